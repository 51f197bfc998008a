package org.loomcard.yarn.web;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;

/** The queues of a compiled policy configuration as a tree, by their numbers; root is 0. */
final class QueueSpecs {
  private final JsonArray specs;
  private final List<List<Integer>> below = new ArrayList<>();
  /** By queue, whether one directly below it states a guarantee. */
  private final boolean[] guarantees;

  QueueSpecs(JsonArray specs) {
    this.specs = specs;
    guarantees = new boolean[specs.size()];
    for (int i = 0; i < specs.size(); i++) {
      below.add(new ArrayList<Integer>());
      JsonElement parent = get(i).get("parent");
      if (!parent.isJsonNull()) {
        below.get(parent.getAsInt()).add(i);
        JsonObject guaranteed = get(i).getAsJsonObject("guaranteed");
        guarantees[parent.getAsInt()] |= !guaranteed.has("ppm")
            || guaranteed.get("ppm").getAsInt() > 0;
      }
    }
  }

  int size() {
    return specs.size();
  }

  JsonObject get(int index) {
    return specs.get(index).getAsJsonObject();
  }

  /** The queues directly below one. */
  List<Integer> below(int index) {
    return below.get(index);
  }

  /** Whether no queue beside this one states a guarantee: then weights divide the parent's. */
  boolean isWeighted(int index) {
    JsonElement parent = get(index).get("parent");
    return !parent.isJsonNull() && !guarantees[parent.getAsInt()];
  }

  /** Returns the name of the policy that decides what a queue gets for itself. */
  String policy(int index) {
    return governing(index).get("policy").getAsString();
  }

  /**
   * Returns an option that the governing policy has for a queue: in its {@code levels} for the
   * queue or the nearest above that it names there, or for all; null where the file states none.
   */
  JsonElement option(int index, String name) {
    JsonObject options = governing(index).getAsJsonObject("options");
    if (options.has("levels") && options.get("levels").isJsonObject()) {
      JsonObject levels = options.getAsJsonObject("levels");
      for (int i = index; i >= 0; i = parent(i)) {
        JsonElement level = levels.get(get(i).get("path").getAsString());
        if (level != null && level.isJsonObject() && level.getAsJsonObject().has(name)) {
          return level.getAsJsonObject().get(name);
        }
      }
    }
    return options.get(name);
  }

  private JsonObject governing(int index) {
    int above = index;
    while (get(above).get("policy").isJsonNull() && parent(above) >= 0) {
      above = parent(above);
    }
    return get(above);
  }

  private int parent(int index) {
    JsonElement parent = get(index).get("parent");
    return parent.isJsonNull() ? -1 : parent.getAsInt();
  }

  /** Returns a list of submitters or administrators as YARN writes it: users, a space, groups. */
  static String acl(JsonArray names) {
    List<String> users = new ArrayList<>();
    List<String> groups = new ArrayList<>();
    for (JsonElement each : names) {
      String name = each.getAsString();
      if (name.equals("*")) {
        return "*";
      }
      if (name.startsWith("group:")) {
        groups.add(name.substring("group:".length()));
      } else {
        users.add(name);
      }
    }
    return String.join(",", users) + " " + String.join(",", groups);
  }
}
