package org.loomcard.yarn.config;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.JsonText;
import org.loomcard.yarn.json.MessageException;

/**
 * A compiled policy configuration, immutable: the output of Python for a YAML file, and the queues
 * that were created for applications. The hash is that of Python's output.
 */
public final class PolicyConfig {
  /** The schema of policy configurations and of all messages that this shim speaks. */
  public static final int SCHEMA = 1;
  /** Of these, the files of policies are Python's alone. */
  private static final Set<String> KEYS = new TreeSet<>(Arrays.asList("schema", "hash", "source",
      "needs", "files", "queues", "placement"));

  /** The canonical text. */
  public final String json;
  /** SHA-256 of what Python wrote, in hex. */
  public final String hash;
  /** Name of the YAML file. */
  public final String source;
  /** What the policies declare to need, such as {@code heartbeats}. */
  public final Set<String> needs;
  /** Depth-first, root first; a queue's number is its index here. */
  public final List<QueueSpec> queues;
  /** The placement rules, in order; null where the submitter's own word decides. */
  public final List<PlacementSpec> placement;
  private final Map<String, QueueSpec> byPath = new HashMap<>();
  /** The JSON texts of its keys. */
  private final Map<String, String> texts;

  private PolicyConfig(String json, Map<String, String> texts, List<QueueSpec> queues)
      throws MessageException {
    String text = texts.get("hash");
    if (text == null || queues.isEmpty()) {
      throw new MessageException("config: needs a hash and at least the queue root");
    }
    this.json = json;
    this.texts = texts;
    this.hash = new JsonCursor(text).string("config: hash");
    text = texts.get("source");
    this.source = text == null ? "" : new JsonCursor(text).string("config: source");
    text = texts.get("needs");
    this.needs = Collections.unmodifiableSet(new TreeSet<>(text == null
        ? Collections.<String>emptyList() : new JsonCursor(text).strings("config: needs")));
    text = texts.get("placement");
    this.placement = text == null ? null : PlacementSpec.readAll(new JsonCursor(text));
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

  /** The paths of the leaves that were created, in order. */
  public List<String> created() {
    List<String> paths = new ArrayList<>();
    for (QueueSpec queue : queues) {
      if (queue.created && queue.leaf) {
        paths.add(queue.path);
      }
    }
    return paths;
  }

  /** Returns this configuration with the created leaves of another one, where it allows them. */
  public PolicyConfig withCreatedOf(PolicyConfig other) {
    List<String> leaves = other.created();
    return leaves.isEmpty() ? this : withCreated(leaves);
  }

  /**
   * Returns the same configuration with these created leaves and no others. A path that the
   * configuration itself has, or below which nothing may be created, is left out.
   */
  public PolicyConfig withCreated(Collection<String> leaves) {
    List<Map<String, String>> rows = new CreatedQueues(queues).with(leaves);
    try {
      List<QueueSpec> all = new ArrayList<>();
      StringBuilder array = new StringBuilder("[");
      for (Map<String, String> row : rows) {
        JsonText.object(array.append(all.isEmpty() ? "" : ","), row);
        all.add(new QueueSpec(all.size(), row));
      }
      Map<String, String> next = new TreeMap<>(texts);
      next.put("queues", array.append(']').toString());
      return new PolicyConfig(JsonText.object(new StringBuilder(), next).toString(), next, all);
    } catch (MessageException e) {
      throw new IllegalStateException(e); // the template was read as a queue before
    }
  }

  /**
   * Reads a compiled policy configuration.
   *
   * @throws MessageException when it does not follow {@link #SCHEMA}; names the place
   */
  public static PolicyConfig read(String json) throws MessageException {
    JsonCursor in = new JsonCursor(json);
    Map<String, String> texts = in.rawValues("config");
    in.end();
    for (String key : texts.keySet()) {
      if (!KEYS.contains(key)) {
        throw new MessageException("config: " + key
            + ": unknown key; this shim reads policy configurations of schema " + SCHEMA);
      }
    }
    String text = texts.get("schema");
    int schema = text == null ? 0 : new JsonCursor(text).integer("config: schema");
    if (schema != SCHEMA) {
      throw new MessageException("config: schema: expected " + SCHEMA + ", found " + schema
          + "; compile the YAML again with the loomcard of this shim's version");
    }
    List<QueueSpec> queues = new ArrayList<>();
    if (texts.containsKey("queues")) {
      readQueues(new JsonCursor(texts.get("queues")), queues);
    }
    return new PolicyConfig(json, texts, queues);
  }

  private static void readQueues(JsonCursor in, List<QueueSpec> queues) throws MessageException {
    in.open("config: queues");
    while (in.objectElement("config: queues[" + queues.size() + "]")) {
      Map<String, String> row = new TreeMap<>();
      for (String key = in.key(); key != null; key = in.key()) {
        row.put(key, in.raw());
      }
      queues.add(new QueueSpec(queues.size(), row));
    }
  }
}
