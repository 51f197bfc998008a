package org.loomcard.yarn;

import java.util.ArrayList;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.books.Ledger;
import org.loomcard.yarn.books.LoomcardApplication;
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
  private volatile boolean outstanding;
  private volatile boolean fresh;

  ContainerResizes(Ledger ledger, PlanCommitter committer) {
    this.ledger = ledger;
    this.committer = committer;
  }

  /** An AM asked for a change; looked at in the next round, and again until none is outstanding. */
  void asked() {
    outstanding = true;
    fresh = true;
  }

  /** Whether some change was asked for since the last round. */
  boolean areNews() {
    return fresh;
  }

  /** Serves what fits. The caller holds the scheduler's write lock. */
  void serve() {
    if (!outstanding) {
      return;
    }
    fresh = false;
    boolean left = false;
    for (LoomcardApplication application : ledger.applications()) {
      LoomcardAttempt attempt = application.attempt();
      if (attempt == null || attempt.isStopped()) {
        continue;
      }
      for (SchedulerRequestKey key : new ArrayList<>(attempt.getSchedulerKeys())) {
        if (key.getContainerToUpdate() != null) {
          left |= !serve(attempt, key);
        }
      }
    }
    outstanding = left;
  }

  private boolean serve(LoomcardAttempt attempt, SchedulerRequestKey key) {
    RMContainer container = attempt.getRMContainer(key.getContainerToUpdate());
    LoomcardNode node = container == null ? null : ledger.node(container.getNodeId());
    if (node == null) {
      return true;
    }
    long[] size = Amounts.of(container.getContainer().getResource());
    boolean grows = container.getExecutionType() == ExecutionType.GUARANTEED;
    long[] more = Amounts.of(attempt.getPendingAsk(key, "*").getPerAllocationResource());
    if (!committer.grantResize(attempt, key, node)) {
      return false;
    }
    if (grows) {
      Amounts.add(size, more);
      ledger.containerResized(container.getContainerId(), size);
    } else {
      ledger.containerPromoted(attempt, node, container);
    }
    return true;
  }
}
