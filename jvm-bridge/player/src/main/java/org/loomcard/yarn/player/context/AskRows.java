package org.loomcard.yarn.player.context;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.UnaryOperator;

/**
 * The rows of one ask key, host, rack and {@value #ANY}: how many containers are wanted where, and
 * what the ResourceManager believes.
 *
 * <p>A row states a whole number, not a change. The ResourceManager counts down by itself when it
 * allocations, so a row is sent only where its count would be wrong: one that is sent while
 * allocations are on their way asks for those again.
 */
public final class AskRows {
  static final String ANY = "*";

  private final UnaryOperator<String> rackOf;
  private final Map<String, Integer> wanted = new TreeMap<>();
  private final Map<String, Integer> believed = new HashMap<>();

  AskRows(UnaryOperator<String> rackOf) {
    this.rackOf = rackOf;
  }

  /** One more container is wanted, rather on one of {@code hosts}. */
  public void add(List<String> hosts) {
    change(wanted, hosts, 1);
  }

  /** One container fewer is wanted: that of a task with these wishes. */
  public void remove(List<String> hosts) {
    change(wanted, hosts, -1);
  }

  /** What is wanted is exactly this: a container for each of these wishes. */
  public void want(List<List<String>> wishes) {
    wanted.replaceAll((name, count) -> 0);
    wishes.forEach(this::add);
  }

  /** An allocation on {@code host} has arrived: the ResourceManager counts one fewer there. */
  public void allocated(String host) {
    String rack = rackOf.apply(host);
    if (believed.getOrDefault(host, 0) > 0) {
      believed.merge(host, -1, Integer::sum);
    }
    if (believed.getOrDefault(rack, 0) > 0) {
      believed.merge(rack, -1, Integer::sum);
    }
    believed.merge(ANY, -1, Integer::sum);
  }

  /** The ResourceManager has forgotten everything. */
  void unreported() {
    believed.clear();
  }

  /** How many containers are wanted in all. */
  public int count() {
    return wanted.getOrDefault(ANY, 0);
  }

  /** The rows to send, by name; from now on the ResourceManager believes them. */
  Map<String, Integer> changes() {
    Map<String, Integer> changes = new TreeMap<>();
    for (Map.Entry<String, Integer> row : wanted.entrySet()) {
      if (believed.getOrDefault(row.getKey(), 0).intValue() != row.getValue()) {
        changes.put(row.getKey(), row.getValue());
      }
    }
    believed.putAll(changes);
    return changes;
  }

  private void change(Map<String, Integer> rows, List<String> hosts, int by) {
    TreeSet<String> names = new TreeSet<>(hosts);
    for (String host : hosts) {
      names.add(rackOf.apply(host));
    }
    names.add(ANY);
    for (String name : names) {
      rows.merge(name, by, Integer::sum);
    }
  }
}
