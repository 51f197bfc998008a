package org.loomcard.yarn.queues;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.config.QueueSpec;

/**
 * Which queue a path in a placement rule means, and which may be created, immutable; Python's
 * {@code config/queue_names.py} finds the same.
 */
public final class QueueNames {
  private static final String ROOT = "root";
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_-]{0,127}");
  private final PolicyConfig config;
  private final Map<String, List<String>> byName = new HashMap<>();
  /** How many created leaves there are, by the path of the queue that may create them. */
  private final Map<String, Integer> created = new HashMap<>();

  public QueueNames(PolicyConfig config) {
    this.config = config;
    for (QueueSpec queue : config.queues) {
      byName.computeIfAbsent(queue.name(), name -> new ArrayList<>(1)).add(queue.path);
      if (queue.created && queue.leaf) {
        created.merge(stated(queue.path), 1, Integer::sum);
      }
    }
  }

  boolean has(String path) {
    return config.queue(path) != null;
  }

  /**
   * Returns the whole path, which may not exist; null if its first part means no queue, or more
   * than one.
   */
  String absolute(List<String> parts) {
    String first = parts.get(0);
    String start = first;
    if (!first.equals(ROOT)) {
      start = ROOT + "." + first;
      if (!has(start)) {
        List<String> named = byName.getOrDefault(first, Collections.emptyList());
        if (named.size() != 1) {
          return null;
        }
        start = named.get(0);
      }
    }
    return parts.size() == 1 ? start
        : start + "." + String.join(".", parts.subList(1, parts.size()));
  }

  /** The nearest queue, from this path upwards, that was not created. */
  private String stated(String path) {
    String at = path;
    while (config.queue(at).created) {
      at = parent(at);
    }
    return at;
  }

  /** Returns the queue that may create one of this path, as {@link #whyNot} allows it. */
  String creator(String path) {
    String at = path;
    while (!has(at)) {
      at = parent(at);
    }
    return stated(at);
  }

  /**
   * Returns null when this whole path is a leaf, or can be created; otherwise the reason.
   *
   * @param levels how many parts of it may be new
   */
  public String whyNot(String path, int levels) {
    LinkedList<String> missing = new LinkedList<>();
    String start = path;
    while (!has(start)) {
      missing.addFirst(start.substring(start.lastIndexOf('.') + 1));
      start = parent(start);
      if (start == null) {
        return path + " does not exist";
      }
    }
    boolean leaf = config.queue(start).leaf;
    if (missing.isEmpty()) {
      return leaf ? null : path + " holds queues, not applications";
    }
    String absent = path + " does not exist";
    if (leaf) {
      return absent + ", and " + start + " is a leaf";
    }
    if (levels < missing.size()) {
      return absent;
    }
    for (String name : missing) {
      if (!NAME.matcher(name).matches() || name.equals(ROOT)) {
        return absent + ", and '" + name + "' cannot be the name of a queue";
      }
    }
    QueueSpec creator = config.queue(stated(start));
    if (creator.autoCreate == null) {
      return absent + ", and " + start + " creates no queues";
    }
    if (depth(path) - depth(creator.path) > creator.autoCreate.depth) {
      return absent + ", and is deeper than " + creator.path + " creates queues";
    }
    int count = createdBelow(creator.path);
    return count < creator.autoCreate.maximumQueues ? null
        : absent + ", and " + creator.path + " has " + count + " created queues already";
  }

  int createdBelow(String creator) {
    return created.getOrDefault(creator, 0);
  }

  private static int depth(String path) {
    return (int) path.chars().filter(each -> each == '.').count();
  }

  private static String parent(String path) {
    int dot = path.lastIndexOf('.');
    return dot < 0 ? null : path.substring(0, dot);
  }
}
