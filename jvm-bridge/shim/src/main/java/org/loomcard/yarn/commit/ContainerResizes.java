package org.loomcard.yarn.commit;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.LongSupplier;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.PendingAsk;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;

/**
 * Serves the asks by which an AM makes a running container grow, or promotes an opportunistic one.
 * YARN enters these as a second, short-lived container on the same node, which takes the room until
 * the AM fetches the change. The policy is sent the outcome: a container of another size, or a new
 * one.
 *
 * <p>Changes are looked at in turn. A change for which its node has no room is skipped without
 * YARN's lock. Changes that may fit are tried under the lock, at most {@link #SLICE} at a time. A
 * round takes about {@link #BUDGET_NANOS}; the next one continues where it stopped.
 */
public final class ContainerResizes {
  /**
   * How many are tried each time the lock is taken: few enough that heartbeats get it in between.
   */
  public static final int SLICE = 32;
  public static final long BUDGET_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
  private final ClusterState cluster;
  private final PlanCommitter committer;
  private final Lock writeLock;
  private final LongSupplier nanoTime;
  /** The containers whose change is outstanding, each with the attempt that requested it. */
  private final Map<ContainerId, LoomcardAttempt> outstanding = new ConcurrentHashMap<>();
  /** The same containers, each once, in the order of their turns. */
  private final Queue<ContainerId> turns = new ConcurrentLinkedQueue<>();
  private volatile boolean fresh;
  /** How many changes are still to be looked at since the last event that may have made room. */
  private volatile int left;
  /** How many events there were when the last look began, with those that the look itself wrote. */
  private volatile long seen;
  private int looked;
  private long endNanos;

  /** @param writeLock the scheduler's */
  public ContainerResizes(ClusterState cluster, PlanCommitter committer, Lock writeLock,
      LongSupplier nanoTime) {
    this.cluster = cluster;
    this.committer = committer;
    this.writeLock = writeLock;
    this.nanoTime = nanoTime;
  }

  /**
   * Prepares for changes that an AM is about to request. A change may replace an increase that is
   * outstanding. YARN then cancels the increase by a container that its metrics count as allocated
   * and never as released; this method counts the release. Call it before YARN handles the changes.
   */
  public void replaced(LoomcardAttempt attempt, ContainerUpdates updates) {
    replaced(attempt, updates.getIncreaseRequests());
    replaced(attempt, updates.getDecreaseRequests());
  }

  private void replaced(LoomcardAttempt attempt, List<UpdateContainerRequest> requests) {
    for (UpdateContainerRequest request : requests) {
      RMContainer container = attempt.getRMContainer(request.getContainerId());
      LoomcardNode node = container == null ? null : cluster.node(container.getNodeId());
      if (node != null && attempt.getOutstandingAsksCount(key(container)) > 0) {
        attempt.loomcardQueue().getMetrics().releaseResources(node.getPartition(),
            attempt.getUser(), 1,
            attempt.getPendingAsk(key(container), "*").getPerAllocationResource());
      }
    }
  }

  /** Returns YARN's key of the ask by which this container grows. */
  private static SchedulerRequestKey key(RMContainer container) {
    return new SchedulerRequestKey(container.getContainer().getPriority(),
        container.getContainer().getAllocationRequestId(), container.getContainerId());
  }

  /**
   * Notes changes that an AM requested; each round looks at them until they are served or taken
   * back.
   */
  public void asked(LoomcardAttempt attempt, ContainerUpdates updates) {
    asked(attempt, updates.getIncreaseRequests());
    asked(attempt, updates.getPromotionRequests());
  }

  private void asked(LoomcardAttempt attempt, List<UpdateContainerRequest> requests) {
    if (requests != null) {
      for (UpdateContainerRequest request : requests) {
        if (outstanding.put(request.getContainerId(), attempt) == null) {
          turns.add(request.getContainerId());
        }
        fresh = true;
      }
    }
  }

  /** Whether a change was requested since the last round, or was not reached in it. */
  public boolean hasPending() {
    return fresh || left > 0;
  }

  /** How many changes are outstanding. */
  public int count() {
    return outstanding.size();
  }

  /** Serves what fits, as far as the time allows. The caller holds none of YARN's locks. */
  public synchronized void serve() {
    seen = cluster.events().written(); // first: a node's room is free before its event
    looked = 0;
    endNanos = nanoTime.getAsLong() + BUDGET_NANOS;
    if (fresh || left == 0 || !cluster.events().isEmpty()) {
      fresh = false;
      left = outstanding.size();
    }
    while (toNextCandidate()) {
      writeLock.lock();
      long before = cluster.events().written();
      try {
        serveSlice();
      } finally {
        seen += cluster.events().written() - before; // no other thread writes in between
        writeLock.unlock();
      }
    }
  }

  /**
   * Notes that the events are about to be sent, under the write lock. Events since the look began
   * may have made room, and no look would follow: another round looks again.
   */
  void eventsSent() {
    if (cluster.events().written() != seen && !outstanding.isEmpty()) {
      fresh = true;
    }
  }

  /**
   * Skips, without the lock, changes that have no room. Returns false when time or changes are used
   * up.
   */
  private boolean toNextCandidate() {
    while (left > 0 && !isTimeOver()) {
      ContainerId next = turns.peek();
      if (next == null) {
        left = 0;
      } else if (mayFit(next)) {
        return true;
      } else {
        turns.add(turns.remove());
        countLook();
      }
    }
    return false;
  }

  private void countLook() {
    left--;
    looked++;
  }

  /** Whether the time is used up. A few changes are tried however slow the machine is. */
  private boolean isTimeOver() {
    return nanoTime.getAsLong() - endNanos >= 0 && looked >= SLICE;
  }

  /**
   * Returns false when the node has no room for this change. A change that has ended returns true,
   * and is dropped later.
   */
  private boolean mayFit(ContainerId id) {
    LoomcardAttempt attempt = outstanding.get(id);
    RMContainer container = attempt == null ? null : attempt.getRMContainer(id);
    LoomcardNode node = container == null ? null : cluster.node(container.getNodeId());
    if (node == null || attempt.isStopped()) {
      return true;
    }
    PendingAsk ask = attempt.getPendingAsk(key(container), "*");
    return ask.getCount() <= 0
        || Resources.fitsIn(ask.getPerAllocationResource(), node.getUnallocatedResource());
  }

  private void serveSlice() {
    for (int i = 0; i < SLICE && left > 0 && !isTimeOver(); i++) {
      ContainerId id = turns.poll();
      if (id == null) {
        left = 0;
        return;
      }
      countLook();
      boolean over = false;
      try {
        over = serve(outstanding.get(id), id);
      } finally {
        if (over) {
          outstanding.remove(id);
        } else {
          turns.add(id);
        }
      }
    }
  }

  /** Tries one change; returns whether nothing of it is outstanding any more. */
  private boolean serve(LoomcardAttempt attempt, ContainerId id) {
    RMContainer container = attempt.getRMContainer(id);
    LoomcardNode node = container == null ? null : cluster.node(container.getNodeId());
    if (node == null || attempt.isStopped()) {
      return true;
    }
    SchedulerRequestKey key = key(container);
    if (attempt.getOutstandingAsksCount(key) <= 0) {
      return true;
    }
    boolean grows = container.getExecutionType() == ExecutionType.GUARANTEED;
    long[] more = Amounts.of(attempt.getPendingAsk(key, "*").getPerAllocationResource());
    if (!committer.allocateResize(attempt, key, node)) {
      return false;
    }
    if (grows) {
      cluster.containerGrew(id, more);
    } else {
      cluster.containerPromoted(attempt, node, container);
    }
    return true;
  }

  /** Notes that the AM has fetched changes that were allocated. */
  public void fetched(LoomcardAttempt attempt, List<Container> increased,
      List<Container> promoted) {
    settle(attempt, increased);
    settle(attempt, promoted);
  }

  /**
   * Notes that the AM has fetched changes by which containers shrank, or became opportunistic. The
   * policy is sent them when their room is free.
   */
  public void shrunk(LoomcardAttempt attempt, List<Container> decreased, List<Container> demoted) {
    settle(attempt, decreased);
    for (Container container : demoted) {
      attempt.application().charges().end(container.getId());
    }
  }

  private static void settle(LoomcardAttempt attempt, List<Container> changed) {
    for (Container container : changed) {
      attempt.application().charges().settle(container.getId(),
          Amounts.of(container.getResource()));
    }
  }
}
