package org.loomcard.yarn.policyconfig;

import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.JsonText;
import org.loomcard.yarn.json.MessageException;

/** An applied configuration as the text that is kept of it. */
final class AppliedText {
  private AppliedText() {
  }

  static String write(AppliedConfig applied) {
    StringBuilder text = new StringBuilder("{\"version\":").append(applied.version);
    text.append(",\"at_ms\":").append(applied.atMs).append(",\"user\":");
    JsonText.quote(text, applied.user).append(",\"yaml\":");
    return JsonText.quote(text, applied.yaml).append(",\"setup\":").append(applied.setup.json)
        .append('}').toString();
  }

  /** Reads what {@link #write} wrote; texts of earlier releases hold neither user nor time. */
  static AppliedConfig read(String text) throws MessageException {
    int version = 0;
    long atMs = 0;
    String user = null;
    String yaml = null;
    String setup = null;
    JsonCursor in = new JsonCursor(text);
    in.openObject("applied set-up");
    for (String key = in.key(); key != null; key = in.key()) {
      switch (key) {
        case "version": version = in.integer("version"); break;
        case "at_ms": atMs = in.number("at_ms"); break;
        case "user": user = in.stringOrNull("user"); break;
        case "yaml": yaml = in.stringOrNull("yaml"); break;
        case "setup": setup = in.raw(); break;
        default: throw new MessageException(key + ": unknown key");
      }
    }
    in.end();
    return new AppliedConfig(PolicyConfig.read(String.valueOf(setup)), version, yaml, user, atMs);
  }
}
