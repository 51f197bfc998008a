package org.loomcard.yarn.config;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.MessageException;

/** A placement rule of a compiled policy configuration, immutable. */
public final class PlacementSpec {
  public static final String NEXT = "next";
  public static final String REJECT = "reject";
  private static final List<String> CONDITIONS =
      Arrays.asList("user", "primary_group", "group", "application", "tag");
  /** The names that an application must have, by condition: of its user, for example. */
  public final Map<String, List<String>> conditions;
  /** Whether the submitter must have named a queue, or must not have; null: either. */
  public final Boolean named;
  /** The path, with variables; null if the rule refuses. */
  public final String queue;
  /** How many parts of the path may be new. */
  public final int levels;
  /** {@link #NEXT}, {@link #REJECT} or another path. */
  public final String otherwise;

  private PlacementSpec(Map<String, List<String>> conditions, Boolean named, String queue,
      int levels, String otherwise) {
    this.conditions = Collections.unmodifiableMap(conditions);
    this.named = named;
    this.queue = queue;
    this.levels = levels;
    this.otherwise = otherwise;
  }

  static List<PlacementSpec> readAll(JsonCursor in) throws MessageException {
    List<PlacementSpec> rules = new ArrayList<>();
    in.open("config: placement");
    while (in.objectElement("config: placement[" + rules.size() + "]")) {
      rules.add(read(in, "config: placement[" + rules.size() + "]: "));
    }
    return Collections.unmodifiableList(rules);
  }

  private static PlacementSpec read(JsonCursor in, String place) throws MessageException {
    Map<String, List<String>> conditions = new TreeMap<>();
    Boolean named = null;
    String queue = null;
    boolean reject = false;
    int levels = 0;
    String otherwise = NEXT;
    for (String key = in.key(); key != null; key = in.key()) {
      switch (key) {
        case "named": named = in.bool(place + key); break;
        case "queue": queue = in.string(place + key); break;
        case "reject": reject = in.bool(place + key); break;
        case "create":
          levels = in.string(place + key).equals("leaf") ? 1 : Integer.MAX_VALUE;
          break;
        case "else": otherwise = in.string(place + key); break;
        default:
          if (!CONDITIONS.contains(key)) {
            throw new MessageException(place + key + ": unknown key; this shim reads policy "
                + "configurations of schema " + PolicyConfig.SCHEMA);
          }
          conditions.put(key, in.strings(place + key));
      }
    }
    if (reject == (queue != null)) {
      throw new MessageException(place + "needs either queue or reject");
    }
    return new PlacementSpec(conditions, named, queue, levels, otherwise);
  }
}
