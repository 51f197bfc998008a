package org.loomcard.yarn.config;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.loomcard.yarn.json.JsonText;

/** Adds created leaves to the queues of a configuration, made from the templates there. */
final class CreatedQueues {
  private final Map<String, Place> places = new HashMap<>();
  private final Place root;

  /** Begins with the queues that were not created. */
  CreatedQueues(List<QueueSpec> queues) {
    for (QueueSpec queue : queues) {
      if (!queue.created) {
        Place place = new Place(queue.texts, queue.autoCreate, 0);
        places.put(queue.path, place);
        if (queue.parent >= 0) {
          places.get(parent(queue.path)).below.put(queue.name(), place);
        }
      }
    }
    root = places.get(queues.get(0).path);
  }

  /** Returns the rows of all queues, depth-first, siblings by name. */
  List<Map<String, String>> with(Collection<String> leaves) {
    for (String path : leaves) {
      if (!places.containsKey(path)) {
        Place above = parentOf(path);
        if (above != null) {
          add(path, above, above.creates.template);
        }
      }
    }
    List<Map<String, String>> rows = new ArrayList<>();
    collect(root, "null", rows);
    return rows;
  }

  /** Returns the place of a new queue's parent, which may be new too; null if there is none. */
  private Place parentOf(String path) {
    String name = parent(path);
    if (name == null) {
      return null;
    }
    Place known = places.get(name);
    if (known != null) {
      return known.creates != null && known.levels < known.creates.depth ? known : null;
    }
    Place above = parentOf(name);
    return above == null || above.levels + 1 >= above.creates.depth ? null
        : add(name, above, above.creates.between);
  }

  private Place add(String path, Place above, Map<String, String> template) {
    Map<String, String> texts = new TreeMap<>(template);
    texts.put("path", JsonText.quote(new StringBuilder(), path).toString());
    texts.put("created", "true");
    boolean leaf = template == above.creates.template;
    Place place = new Place(texts, leaf ? null : above.creates, above.levels + 1);
    places.put(path, place);
    above.below.put(path.substring(path.lastIndexOf('.') + 1), place);
    return place;
  }

  private static void collect(Place place, String parent, List<Map<String, String>> rows) {
    Map<String, String> row = new TreeMap<>(place.texts);
    row.put("parent", parent);
    String number = String.valueOf(rows.size());
    rows.add(row);
    for (Place below : place.below.values()) {
      collect(below, number, rows);
    }
  }

  private static String parent(String path) {
    int dot = path.lastIndexOf('.');
    return dot < 0 ? null : path.substring(0, dot);
  }

  /** A queue, with what may be created below it and how many levels are created down to it. */
  private static final class Place {
    private final Map<String, String> texts;
    private final AutoCreate creates;
    private final int levels;
    private final Map<String, Place> below = new TreeMap<>();

    private Place(Map<String, String> texts, AutoCreate creates, int levels) {
      this.texts = texts;
      this.creates = creates;
      this.levels = levels;
    }
  }
}
