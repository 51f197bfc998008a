package org.loomcard.yarn.state;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.hadoop.HadoopCompat;
import org.loomcard.yarn.queues.Amounts;

/**
 * One node. It informs the cluster state when the room of a container is free again, and remembers
 * which containers to kill, and when.
 */
public final class LoomcardNode extends HadoopCompat.Node {
  private final int number;
  private final ClusterState cluster;
  private final Map<RMContainer, Long> killAt = new HashMap<>();
  private volatile long lastHeartbeatMs;
  private volatile boolean shared;
  private volatile Reservation reservation;
  /** The least that was free since it was last taken; null: the same as is free now. */
  private long[] leastFree;

  LoomcardNode(int number, ClusterState cluster, RMNode node, boolean usePortForName) {
    super(node, usePortForName, node.getNodeLabels());
    this.number = number;
    this.cluster = cluster;
    this.lastHeartbeatMs = cluster.events().now();
  }

  public int number() {
    return number;
  }

  /** Whether its partition lends idle room to asks without a label. */
  public boolean isShared() {
    return shared;
  }

  void setShared(boolean isShared) {
    shared = isShared;
  }

  /** When the heartbeat before the present one came, in ms since the engine's zero. */
  long lastHeartbeatMs() {
    return lastHeartbeatMs;
  }

  /** Notes that everything in a heartbeat has been handled. */
  public void heartbeatDone(long nowMs) {
    lastHeartbeatMs = nowMs;
  }

  @Override
  protected void allocateContainer(RMContainer container, boolean launchedOnNode) {
    super.allocateContainer(container, launchedOnNode);
    noteFree();
    cluster.roomChanged(this);
  }

  @Override
  public void updateTotalResource(Resource resource) {
    super.updateTotalResource(resource);
    noteFree();
    cluster.roomChanged(this);
  }

  private synchronized void noteFree() {
    long[] free = Amounts.of(getUnallocatedResource());
    if (leastFree == null) {
      leastFree = free;
      return;
    }
    for (int i = 0; i < free.length; i++) {
      leastFree[i] = Math.min(leastFree[i], free[i]);
    }
  }

  /** Returns the least that was free at any time since the last call. */
  public synchronized long[] takeLeastFree() {
    noteFree();
    long[] least = leastFree;
    leastFree = null;
    return least;
  }

  @Override
  protected void updateResourceForReleasedContainer(Container container) {
    super.updateResourceForReleasedContainer(container);
    cluster.roomChanged(this);
    cluster.roomFreed(container);
  }

  /** The reservation on this node; null for none. */
  public Reservation reservation() {
    return reservation;
  }

  void keep(Reservation newReservation) {
    reservation = newReservation;
  }

  /** Returns whether {@code more} for this ask would take room that is reserved for another ask. */
  public boolean isReservedForOther(LoomcardAttempt attempt, SchedulerRequestKey key, long[] more) {
    Reservation kept = reservation;
    return kept != null && !kept.isFor(attempt, key)
        && !kept.leaves(Amounts.of(getUnallocatedResource()), more)
        && !kept.isOver(cluster.events().now());
  }

  /** Notes that a container of this ask was placed here. */
  public void allocated(LoomcardAttempt attempt, SchedulerRequestKey key) {
    if (reservation != null) {
      cluster.reservations().allocated(attempt, key, this);
    }
  }

  /**
   * Makes the first heartbeat at or after {@code atMs} kill the container, unless it ended before.
   * The earliest such time counts.
   */
  public synchronized void preempt(RMContainer container, long atMs) {
    killAt.merge(container, atMs, Math::min);
  }

  /** Returns the containers whose grace has ended; each is returned once. */
  public synchronized List<RMContainer> takeOverdue(long nowMs) {
    List<RMContainer> overdue = new ArrayList<>();
    if (!killAt.isEmpty()) {
      killAt.forEach((container, atMs) -> {
        if (atMs <= nowMs) {
          overdue.add(container);
        }
      });
      killAt.keySet().removeAll(overdue);
      killAt.keySet().removeIf(container -> !isValidContainer(container.getContainerId()));
    }
    return overdue;
  }
}
