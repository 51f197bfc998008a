package org.loomcard.yarn.bridge;

/** Strings as JSON, appended to a builder: what Jackson would write, without its copies. */
final class JsonText {
  private static final char[] HEX = "0123456789abcdef".toCharArray();

  private JsonText() {
  }

  /** Appends {@code text} quoted; null becomes {@code null}. */
  static StringBuilder quote(StringBuilder out, String text) {
    if (text == null) {
      return out.append("null");
    }
    out.append('"');
    int plain = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c >= 0x20 && c != '"' && c != '\\') {
        continue;
      }
      out.append(text, plain, i);
      escape(out, c);
      plain = i + 1;
    }
    return out.append(text, plain, text.length()).append('"');
  }

  /** Appends {@code texts} as an array of strings. */
  static StringBuilder quoteAll(StringBuilder out, Iterable<String> texts) {
    out.append('[');
    String comma = "";
    for (String text : texts) {
      quote(out.append(comma), text);
      comma = ",";
    }
    return out.append(']');
  }

  private static void escape(StringBuilder out, char c) {
    switch (c) {
      case '"': out.append("\\\""); break;
      case '\\': out.append("\\\\"); break;
      case '\n': out.append("\\n"); break;
      case '\r': out.append("\\r"); break;
      case '\t': out.append("\\t"); break;
      case '\b': out.append("\\b"); break;
      case '\f': out.append("\\f"); break;
      default: out.append("\\u00").append(HEX[c >> 4]).append(HEX[c & 0xf]);
    }
  }
}
