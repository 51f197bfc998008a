package org.loomcard.yarn.queues;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.NodeId;

/** The capacity of the live nodes of each partition; nodes without a label are in partition "". */
public final class PartitionCapacities {
  private final Map<String, long[]> capacities = new HashMap<>();
  private final Map<NodeId, Counted> nodes = new HashMap<>();
  private final int types;

  public PartitionCapacities(int types) {
    this.types = types;
  }

  /** Notes that a node was added, or has another capacity or partition. */
  public synchronized void put(NodeId node, String partition, long[] capacity) {
    remove(node);
    nodes.put(node, new Counted(partition, capacity));
    change(partition, capacity);
  }

  /** Notes that a node was removed. */
  public synchronized void remove(NodeId node) {
    Counted before = nodes.remove(node);
    if (before != null) {
      change(before.partition, Amounts.negative(before.capacity));
    }
  }

  private void change(String partition, long[] change) {
    Amounts.add(capacities.computeIfAbsent(partition, name -> new long[types]), change);
  }

  public synchronized long[] capacity(String partition) {
    return capacities.getOrDefault(partition, new long[types]).clone();
  }

  public synchronized Map<String, long[]> all() {
    Map<String, long[]> copies = new HashMap<>();
    capacities.forEach((partition, capacity) -> copies.put(partition, capacity.clone()));
    return copies;
  }

  /** What a node was counted with. */
  private static final class Counted {
    private final String partition;
    private final long[] capacity;

    private Counted(String partition, long[] capacity) {
      this.partition = partition;
      this.capacity = capacity;
    }
  }
}
