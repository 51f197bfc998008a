package org.apache.hadoop.yarn.server.resourcemanager.scheduler;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.NodeId;

/**
 * The nodes of a scheduler. Hadoop 2.7 lacks this class: there the scheduler's base class keeps the
 * nodes, and this is a view of its map.
 */
public abstract class ClusterNodeTracker<N extends SchedulerNode> {
  private final Map<NodeId, N> nodes;

  protected ClusterNodeTracker(Map<NodeId, N> nodes) {
    this.nodes = nodes;
  }

  /** Adds a node and its capacity. */
  public abstract void addNode(N node);

  /** Removes a node and its capacity; returns it, or null for an unknown one. */
  public abstract N removeNode(NodeId id);

  /** Returns the node of that id, or null. */
  public final N getNode(NodeId id) {
    return nodes.get(id);
  }

  public final boolean exists(NodeId id) {
    return nodes.containsKey(id);
  }

  public final List<N> getAllNodes() {
    return new ArrayList<>(nodes.values());
  }

  public final int nodeCount() {
    return nodes.size();
  }
}
