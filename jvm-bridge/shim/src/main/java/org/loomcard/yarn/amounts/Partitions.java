package org.loomcard.yarn.amounts;

import java.util.HashMap;
import java.util.Map;

/** The capacity of the live nodes of each label; the label of nodes without one is empty. */
public final class Partitions {
  private final Map<String, long[]> capacities = new HashMap<>();
  private final int types;

  public Partitions(int types) {
    this.types = types;
  }

  /** Nodes of that label came, or went where {@code change} is negative. */
  public synchronized void change(String label, long[] change) {
    Amounts.add(capacities.computeIfAbsent(label, name -> new long[types]), change);
  }

  public synchronized long[] capacity(String label) {
    return capacities.getOrDefault(label, new long[types]).clone();
  }

  public synchronized Map<String, long[]> all() {
    Map<String, long[]> copies = new HashMap<>();
    capacities.forEach((label, capacity) -> copies.put(label, capacity.clone()));
    return copies;
  }
}
