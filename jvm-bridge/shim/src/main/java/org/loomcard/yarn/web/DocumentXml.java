package org.loomcard.yarn.web;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.StringWriter;
import java.util.Iterator;
import java.util.Map;
import java.util.regex.Pattern;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/**
 * Writes a JSON tree as XML: an object becomes an element with a child per key, and a list repeats
 * an {@code item} element. A key that is not an XML name (a policy's report may have any key)
 * becomes {@code <entry name="KEY">}.
 */
final class DocumentXml {
  private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_.-]*");
  /** Characters that XML 1.0 cannot contain, not even escaped. */
  private static final Pattern UNSPEAKABLE = Pattern.compile(
      "[^\\x09\\x0A\\x0D\\x20-\\uD7FF\\uE000-\\uFFFD\\x{10000}-\\x{10FFFF}]");

  private DocumentXml() {
  }

  /** Writes the tree; {@code envelope} has one key, the name of the root element. */
  static String write(JsonNode envelope) {
    StringWriter text = new StringWriter();
    try {
      XMLStreamWriter out = XMLOutputFactory.newInstance().createXMLStreamWriter(text);
      out.writeStartDocument("UTF-8", "1.0");
      Map.Entry<String, JsonNode> root = envelope.fields().next();
      element(out, root.getKey(), root.getValue());
      out.writeEndDocument();
      out.close();
    } catch (XMLStreamException e) {
      throw new IllegalStateException("the scheduler's document cannot be written as XML", e);
    }
    return text.toString();
  }

  private static void element(XMLStreamWriter out, String name, JsonNode value)
      throws XMLStreamException {
    if (NAME.matcher(name).matches()) {
      out.writeStartElement(name);
    } else {
      out.writeStartElement("entry");
      out.writeAttribute("name", speakable(name));
    }
    if (value.isObject()) {
      Iterator<Map.Entry<String, JsonNode>> fields = value.fields();
      while (fields.hasNext()) {
        Map.Entry<String, JsonNode> field = fields.next();
        element(out, field.getKey(), field.getValue());
      }
    } else if (value.isArray()) {
      for (JsonNode item : value) {
        element(out, "item", item);
      }
    } else if (!value.isNull()) {
      out.writeCharacters(speakable(value.asText()));
    }
    out.writeEndElement();
  }

  private static String speakable(String text) {
    return UNSPEAKABLE.matcher(text).replaceAll("\uFFFD");
  }
}
