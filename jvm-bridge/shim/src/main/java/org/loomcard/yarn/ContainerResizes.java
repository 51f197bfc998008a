package org.loomcard.yarn;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.books.Ledger;
import org.loomcard.yarn.books.LoomcardAttempt;
import org.loomcard.yarn.books.LoomcardNode;
import org.loomcard.yarn.queues.Amounts;

/**
 * Serves the asks by which an AM lets a running container grow, or promotes an opportunistic one.
 * YARN books these as a second, short-lived container on the same node, which takes the room until
 * the AM fetches the change. The policy is told the outcome: a container of another size, or a new
 * one.
 */
final class ContainerResizes {
  private final Ledger ledger;
  private final PlanCommitter committer;
  /** The containers whose change is outstanding, each with the attempt that asked. */
  private final Map<ContainerId, LoomcardAttempt> outstanding = new ConcurrentHashMap<>();
  private volatile boolean fresh;

  ContainerResizes(Ledger ledger, PlanCommitter committer) {
    this.ledger = ledger;
    this.committer = committer;
  }

  /**
   * An AM is about to ask for changes. One that takes the place of an increase which is outstanding
   * has YARN cancel that by a container which its metrics count as allocated and never as released:
   * it is given back here. Call before YARN handles the changes.
   */
  void replaced(LoomcardAttempt attempt, ContainerUpdates updates) {
    replaced(attempt, updates.getIncreaseRequests());
    replaced(attempt, updates.getDecreaseRequests());
  }

  private void replaced(LoomcardAttempt attempt, List<UpdateContainerRequest> requests) {
    for (UpdateContainerRequest request : requests) {
      RMContainer container = attempt.getRMContainer(request.getContainerId());
      LoomcardNode node = container == null ? null : ledger.node(container.getNodeId());
      if (node != null && attempt.getOutstandingAsksCount(key(container)) > 0) {
        attempt.loomcardQueue().getMetrics().releaseResources(node.getPartition(),
            attempt.getUser(), 1,
            attempt.getPendingAsk(key(container), "*").getPerAllocationResource());
      }
    }
  }

  /** YARN's key of the ask by which this container grows. */
  private static SchedulerRequestKey key(RMContainer container) {
    return new SchedulerRequestKey(container.getContainer().getPriority(),
        container.getContainer().getAllocationRequestId(), container.getContainerId());
  }

  /** An AM asked for changes; looked at in each round until they are served or taken back. */
  void asked(LoomcardAttempt attempt, ContainerUpdates updates) {
    asked(attempt, updates.getIncreaseRequests());
    asked(attempt, updates.getPromotionRequests());
  }

  private void asked(LoomcardAttempt attempt, List<UpdateContainerRequest> requests) {
    if (requests != null) {
      for (UpdateContainerRequest request : requests) {
        outstanding.put(request.getContainerId(), attempt);
        fresh = true;
      }
    }
  }

  /** Whether some change was asked for since the last round. */
  boolean areNews() {
    return fresh;
  }

  /** How many changes are outstanding. */
  int count() {
    return outstanding.size();
  }

  /** Serves what fits. The caller holds the scheduler's write lock. */
  void serve() {
    fresh = false;
    outstanding.entrySet().removeIf(change -> serve(change.getValue(), change.getKey()));
  }

  /** Returns whether nothing of the change is outstanding any more. */
  private boolean serve(LoomcardAttempt attempt, ContainerId id) {
    RMContainer container = attempt.getRMContainer(id);
    LoomcardNode node = container == null ? null : ledger.node(container.getNodeId());
    if (node == null || attempt.isStopped()) {
      return true;
    }
    SchedulerRequestKey key = key(container);
    if (attempt.getOutstandingAsksCount(key) <= 0) {
      return true;
    }
    boolean grows = container.getExecutionType() == ExecutionType.GUARANTEED;
    long[] more = Amounts.of(attempt.getPendingAsk(key, "*").getPerAllocationResource());
    if (!committer.grantResize(attempt, key, node)) {
      return false;
    }
    if (grows) {
      ledger.containerGrew(id, more);
    } else {
      ledger.containerPromoted(attempt, node, container);
    }
    return true;
  }

  /** The AM has fetched changes that were granted. */
  void fetched(LoomcardAttempt attempt, List<Container> increased, List<Container> promoted) {
    settle(attempt, increased);
    settle(attempt, promoted);
  }

  /**
   * The AM has fetched changes by which containers shrank, or became opportunistic. The policy is
   * told when their room is free.
   */
  void shrunk(LoomcardAttempt attempt, List<Container> decreased, List<Container> demoted) {
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
