package org.loomcard.yarn.config;

import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.JsonText;
import org.loomcard.yarn.json.MessageException;

/**
 * A policy configuration that is or was in force: the compiled form, the version it was applied as,
 * its YAML, and who applied it when.
 */
public final class AppliedConfig {
  public final PolicyConfig policyConfig;
  /** Counts from 1, which is the policy configuration of the first start. */
  public final int version;
  /** The text it was compiled from; null when only the compiled form was given. */
  public final String yaml;
  /** Who applied it; null when that is not known, as for the first start. */
  public final String user;
  /** When it was applied, in milliseconds since 1970; 0 when that is not known. */
  public final long atMs;

  /** Creates one of unknown user and time. */
  public AppliedConfig(PolicyConfig policyConfig, int version, String yaml) {
    this(policyConfig, version, yaml, null, 0);
  }

  public AppliedConfig(PolicyConfig policyConfig, int version, String yaml, String user,
      long atMs) {
    this.policyConfig = policyConfig;
    this.version = version;
    this.yaml = yaml;
    this.user = user;
    this.atMs = atMs;
  }

  /** Returns the same version with other created queues. */
  public AppliedConfig with(PolicyConfig changed) {
    return new AppliedConfig(changed, version, yaml, user, atMs);
  }

  /** Returns the text in which it is kept. */
  String json() {
    StringBuilder text = new StringBuilder("{\"version\":").append(version);
    text.append(",\"at_ms\":").append(atMs).append(",\"user\":");
    JsonText.quote(text, user).append(",\"yaml\":");
    JsonText.quote(text, yaml).append(",\"config\":").append(policyConfig.json);
    return text.append('}').toString();
  }

  /** Reads what {@link #json} wrote; texts of earlier releases contain neither user nor time. */
  static AppliedConfig read(String text) throws MessageException {
    int version = 0;
    long atMs = 0;
    String user = null;
    String yaml = null;
    String policyConfig = null;
    JsonCursor in = new JsonCursor(text);
    in.openObject("applied policy configuration");
    for (String key = in.key(); key != null; key = in.key()) {
      switch (key) {
        case "version": version = in.integer("version"); break;
        case "at_ms": atMs = in.number("at_ms"); break;
        case "user": user = in.stringOrNull("user"); break;
        case "yaml": yaml = in.stringOrNull("yaml"); break;
        case "setup": // of the version before
        case "config": policyConfig = in.raw(); break;
        default: throw new MessageException(key + ": unknown key");
      }
    }
    in.end();
    return new AppliedConfig(PolicyConfig.read(String.valueOf(policyConfig)), version, yaml, user,
        atMs);
  }

  @Override
  public String toString() {
    return "policy configuration version " + version + " (" + policyConfig.source + ", hash "
        + policyConfig.hash + ")";
  }
}
