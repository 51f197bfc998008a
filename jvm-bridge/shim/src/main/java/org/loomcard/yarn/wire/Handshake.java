package org.loomcard.yarn.wire;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.JsonText;
import org.loomcard.yarn.json.MessageException;

/**
 * The first messages to a policy process that has started: who we are, and whether both sides fit.
 */
public final class Handshake {
  /** Of the messages; a compiled policy configuration has a schema of its own. */
  public static final int SCHEMA = 4;
  /** What this side can do; each side uses only what both name. */
  static final List<String> FEATURES = Collections.unmodifiableList(
      Arrays.asList("heartbeats", "preempt", "headroom", "saved", "reservations"));

  private final int types;
  private final String head;
  private final String journalDir;
  private final String rest;

  /**
   * @param epochMs the cluster timestamp of the ResourceManager
   * @param resourceTypes memory_mb, vcores, then others: the order of every vector on the wire
   */
  public Handshake(BridgeConfig config, long epochMs, String shimVersion, String hadoopVersion,
      List<String> resourceTypes) {
    types = resourceTypes.size();
    StringBuilder out = new StringBuilder("[\"hello\",");
    out.append(SCHEMA).append(',').append(epochMs).append(',');
    JsonText.quote(out, shimVersion).append(',');
    JsonText.quote(out, hadoopVersion).append(',');
    JsonText.quoteAll(out, resourceTypes).append(',');
    JsonText.quoteAll(out, FEATURES).append(",{");
    this.head = out.toString();
    this.journalDir = config.journalDir == null ? null : config.journalDir.getPath();
    out.setLength(0);
    out.append(",\"journal_max_mb\":").append(config.journalMaxMb);
    out.append(",\"journal_segment_rounds\":").append(config.journalSegmentRounds);
    JsonText.quoteAll(out.append(",\"policy_path\":"), config.policyPath);
    out.append(",\"round_containers\":").append(config.roundMaxContainers);
    out.append(",\"round_deadline_ms\":").append(config.roundDeadlineMs);
    out.append(",\"saved_every_ms\":").append(config.savedEveryMs).append("}]");
    this.rest = out.toString();
  }

  /**
   * The request.
   *
   * @param dryRun the process writes no journal and keeps no file, whatever the settings say
   */
  public String hello(boolean dryRun) {
    StringBuilder out = new StringBuilder(head);
    if (dryRun) {
      out.append("\"dry_run\":true,");
    }
    return JsonText.quote(out.append("\"journal_dir\":"), dryRun ? null : journalDir).append(rest)
        .toString();
  }

  /** How many types of resources there are. */
  public int resourceTypes() {
    return types;
  }

  /**
   * Reads the reply.
   *
   * @return what the process says that it runs
   * @throws MessageException when it speaks another schema, or refuses
   */
  public static String read(String reply) throws MessageException {
    JsonCursor in = new JsonCursor(reply);
    in.open("reply to hello");
    String tag = in.string("reply to hello: tag");
    if (tag.equals("error")) {
      throw new MessageException("the policy process refuses: " + in.string("error"));
    }
    if (!tag.equals("hello")) {
      throw new MessageException("reply to hello: expected the tag hello, found " + tag);
    }
    int schema = in.integer("hello: schema");
    if (schema != SCHEMA) {
      throw new MessageException("the policy process speaks schema " + schema
          + ", this shim schema "
          + SCHEMA + "; install the same version of both");
    }
    String python = in.string("hello: python_version");
    String loomcard = in.string("hello: loomcard_version");
    in.strings("hello: features");
    in.close("hello");
    in.end();
    return "loomcard " + loomcard + ", Python " + python;
  }
}
