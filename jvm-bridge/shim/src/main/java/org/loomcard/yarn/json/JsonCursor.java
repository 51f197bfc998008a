package org.loomcard.yarn.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Reads one JSON text strictly: each step says what it expects; if it finds something else, it
 * throws an error that says what and where.
 */
public final class JsonCursor {
  private static final JsonFactory FACTORY = new JsonFactory();
  private final String text;
  private final JsonParser parser;
  private JsonToken token;

  public JsonCursor(String text) throws MessageException {
    this.text = text;
    try {
      this.parser = FACTORY.createParser(text);
    } catch (IOException e) {
      throw new MessageException("message: " + e.getMessage());
    }
  }

  public void open(String what) throws MessageException {
    next();
    expect(JsonToken.START_ARRAY, what, "an array");
  }

  public void close(String what) throws MessageException {
    next();
    expect(JsonToken.END_ARRAY, what, "the end of the array");
  }

  /** Steps into the next element of an array; returns false at its end. */
  public boolean element(String what) throws MessageException {
    next();
    if (token == JsonToken.END_ARRAY) {
      return false;
    }
    expect(JsonToken.START_ARRAY, what, "an array");
    return true;
  }

  /** Steps into the next element of an array of objects; returns false at its end. */
  public boolean objectElement(String what) throws MessageException {
    next();
    if (token == JsonToken.END_ARRAY) {
      return false;
    }
    expect(JsonToken.START_OBJECT, what, "an object");
    return true;
  }

  public void openObject(String what) throws MessageException {
    next();
    expect(JsonToken.START_OBJECT, what, "an object");
  }

  /** Returns the next key of an object, or null at its end. */
  public String key() throws MessageException {
    next();
    try {
      return token == JsonToken.FIELD_NAME ? parser.getCurrentName() : null;
    } catch (IOException e) {
      throw unreadable(e);
    }
  }

  public int integer(String what) throws MessageException {
    long value = number(what);
    if (value < Integer.MIN_VALUE || value > Integer.MAX_VALUE) {
      throw wrong(what, "an integer of 32 bits");
    }
    return (int) value;
  }

  public long number(String what) throws MessageException {
    next();
    return presentNumber(what);
  }

  /** Reads a number, or null. */
  public Long numberOrNull(String what) throws MessageException {
    next();
    return token == JsonToken.VALUE_NULL ? null : Long.valueOf(presentNumber(what));
  }

  public long[] numbers(String what) throws MessageException {
    open(what);
    List<Long> values = new ArrayList<>(4);
    for (next(); token != JsonToken.END_ARRAY; next()) {
      values.add(presentNumber(what));
    }
    long[] result = new long[values.size()];
    for (int i = 0; i < result.length; i++) {
      result[i] = values.get(i);
    }
    return result;
  }

  public double decimal(String what) throws MessageException {
    next();
    if (token != JsonToken.VALUE_NUMBER_FLOAT) {
      return presentNumber(what);
    }
    try {
      return parser.getDoubleValue();
    } catch (IOException e) {
      throw unreadable(e);
    }
  }

  public boolean bool(String what) throws MessageException {
    next();
    if (token != JsonToken.VALUE_TRUE && token != JsonToken.VALUE_FALSE) {
      throw wrong(what, "true or false");
    }
    return token == JsonToken.VALUE_TRUE;
  }

  public String string(String what) throws MessageException {
    next();
    expect(JsonToken.VALUE_STRING, what, "a string");
    return present();
  }

  /** Reads a string, or null. */
  public String stringOrNull(String what) throws MessageException {
    next();
    if (token == JsonToken.VALUE_NULL) {
      return null;
    }
    expect(JsonToken.VALUE_STRING, what, "a string or null");
    return present();
  }

  public List<String> strings(String what) throws MessageException {
    open(what);
    List<String> values = new ArrayList<>();
    for (next(); token != JsonToken.END_ARRAY; next()) {
      expect(JsonToken.VALUE_STRING, what, "a string");
      values.add(present());
    }
    return values;
  }

  /** Returns the next value, of any kind, as its own text. */
  public String raw() throws MessageException {
    next();
    try {
      long start = parser.getTokenLocation().getCharOffset();
      if (token == JsonToken.VALUE_STRING) {
        parser.getText();
      }
      parser.skipChildren();
      return text.substring((int) start, (int) parser.getCurrentLocation().getCharOffset()).trim();
    } catch (IOException e) {
      throw unreadable(e);
    }
  }

  /** Reads an object as texts by key, sorted. */
  public Map<String, String> rawValues(String what) throws MessageException {
    openObject(what);
    Map<String, String> values = new TreeMap<>();
    for (String key = key(); key != null; key = key()) {
      values.put(key, raw());
    }
    return values;
  }

  /** Checks that only space follows. */
  public void end() throws MessageException {
    next();
    if (token != null) {
      throw wrong("message", "its end");
    }
  }

  private void next() throws MessageException {
    try {
      token = parser.nextToken();
    } catch (IOException e) {
      throw unreadable(e);
    }
  }

  private long presentNumber(String what) throws MessageException {
    expect(JsonToken.VALUE_NUMBER_INT, what, "an integer");
    try {
      return parser.getLongValue();
    } catch (IOException e) {
      throw wrong(what, "an integer of 64 bits");
    }
  }

  private String present() throws MessageException {
    try {
      return parser.getText();
    } catch (IOException e) {
      throw unreadable(e);
    }
  }

  private void expect(JsonToken wanted, String what, String expectation) throws MessageException {
    if (token != wanted) {
      throw wrong(what, expectation);
    }
  }

  public MessageException wrong(String what, String expectation) {
    long at = token == null ? text.length() : parser.getTokenLocation().getCharOffset();
    int from = (int) Math.max(0, Math.min(at, text.length()));
    String found = text.substring(from, Math.min(text.length(), from + 40));
    return new MessageException(what + ": expected " + expectation + " at character " + from
        + ", found "
        + (found.isEmpty() ? "the end" : found));
  }

  private static MessageException unreadable(IOException e) {
    return new MessageException("not JSON: " + String.valueOf(e.getMessage()).replace('\n', ' '));
  }
}
