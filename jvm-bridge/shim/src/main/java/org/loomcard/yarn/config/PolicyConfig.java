package org.loomcard.yarn.config;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.MessageException;

/**
 * A compiled policy configuration, immutable: the output of Python for a YAML file. Java reads it
 * and never changes a byte of it.
 */
public final class PolicyConfig {
  /** The schema of policy configurations and of all messages that this shim speaks. */
  public static final int SCHEMA = 1;

  /** The canonical text, exactly as it was received. */
  public final String json;
  /** SHA-256 of the rest, in hex. */
  public final String hash;
  /** Name of the YAML file. */
  public final String source;
  /** What the policies declare to need, such as {@code heartbeats}. */
  public final Set<String> needs;
  /** Depth-first, root first; a queue's number is its index here. */
  public final List<QueueSpec> queues;
  private final Map<String, QueueSpec> byPath = new HashMap<>();

  private PolicyConfig(String json, String hash, String source, List<String> needs,
      List<QueueSpec> queues) {
    this.json = json;
    this.hash = hash;
    this.source = source;
    this.needs = Collections.unmodifiableSet(new TreeSet<>(needs));
    this.queues = Collections.unmodifiableList(queues);
    for (QueueSpec queue : queues) {
      byPath.put(queue.path, queue);
    }
  }

  /** Whether the policies need an event for each heartbeat of a node. */
  public boolean needsHeartbeats() {
    return needs.contains("heartbeats");
  }

  /** The queue of that full path ({@code root.a}), or null. */
  public QueueSpec queue(String path) {
    return byPath.get(path);
  }

  /**
   * Reads a compiled policy configuration.
   *
   * @throws MessageException when it does not follow {@link #SCHEMA}; names the place
   */
  public static PolicyConfig read(String json) throws MessageException {
    JsonCursor in = new JsonCursor(json);
    in.openObject("config");
    String hash = null;
    String source = "";
    List<String> needs = Collections.emptyList();
    List<QueueSpec> queues = new ArrayList<>();
    int schema = 0;
    for (String key = in.key(); key != null; key = in.key()) {
      switch (key) {
        case "schema": schema = in.integer("config: schema"); break;
        case "hash": hash = in.string("config: hash"); break;
        case "source": source = in.string("config: source"); break;
        case "needs": needs = in.strings("config: needs"); break;
        case "files": in.rawValues("config: files"); break; // of policies; Python's alone
        case "queues": readQueues(in, queues); break;
        default: throw new MessageException("config: " + key
            + ": unknown key; this shim reads policy configurations of schema "
            + SCHEMA);
      }
    }
    in.end();
    if (schema != SCHEMA) {
      throw new MessageException("config: schema: expected " + SCHEMA + ", found " + schema
          + "; compile the YAML again with the loomcard of this shim's version");
    }
    if (hash == null || queues.isEmpty()) {
      throw new MessageException("config: needs a hash and at least the queue root");
    }
    return new PolicyConfig(json, hash, source, needs, queues);
  }

  private static void readQueues(JsonCursor in, List<QueueSpec> queues) throws MessageException {
    in.open("config: queues");
    while (in.objectElement("config: queues[" + queues.size() + "]")) {
      queues.add(new QueueSpec(queues.size(), in));
    }
  }
}
