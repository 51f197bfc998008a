package org.loomcard.yarn.config;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.MessageException;

/** What may be created below a queue, immutable. */
public final class AutoCreate {
  /** How many levels below the queue. */
  public final int depth;
  /** How many created leaves may exist below the queue. */
  public final int maximumQueues;
  /** Seconds without an application before a queue is removed; {@link QueueSpec#NONE}: never. */
  public final int removeAfterS;
  /** What is in force at a leaf that does not exist yet. */
  public final QueueSpec leaf;
  /** The JSON texts of a created leaf's keys, without its path and parent. */
  final Map<String, String> template;
  /** The same of a queue between; null if there is none. */
  final Map<String, String> between;

  private AutoCreate(int depth, int maximumQueues, int removeAfterS, Map<String, String> template,
      Map<String, String> between) throws MessageException {
    Map<String, String> texts = new TreeMap<>(template);
    texts.put("path", "\"root.created\"");
    texts.put("parent", "0");
    this.leaf = new QueueSpec(1, texts);
    this.depth = depth;
    this.maximumQueues = maximumQueues;
    this.removeAfterS = removeAfterS;
    this.template = Collections.unmodifiableMap(template);
    this.between = between;
  }

  static AutoCreate read(JsonCursor in, String place) throws MessageException {
    int depth = 1;
    int most = 0;
    int removeAfterS = QueueSpec.NONE;
    Map<String, String> template = null;
    Map<String, String> between = null;
    in.openObject(place);
    for (String key = in.key(); key != null; key = in.key()) {
      String where = place + ": " + key;
      switch (key) {
        case "depth": depth = in.integer(where); break;
        case "maximum_queues": most = in.integer(where); break;
        case "remove_after_s": removeAfterS = in.integer(where); break;
        case "template": template = in.rawValues(where); break;
        case "between": between = in.rawValues(where); break;
        default: throw new MessageException(where + ": unknown key");
      }
    }
    if (template == null || depth > 1 && between == null) {
      throw new MessageException(place + ": lacks the queues that are created");
    }
    return new AutoCreate(depth, most, removeAfterS, template, between);
  }
}
