package org.loomcard.yarn.commit;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.Lock;
import org.apache.hadoop.util.AutoCloseableLock;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.metrics.ShimMetrics;
import org.loomcard.yarn.queues.ReasonCodes;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.ContainerEntry;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;
import org.loomcard.yarn.wire.PlanMessage;
import org.loomcard.yarn.wire.Refusal;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out decisions: the only class that allocates or preempts. Each decision is checked again,
 * under the scheduler's write lock, against the state at that moment. If it is no longer valid, it
 * is refused with a reason code.
 */
public final class PlanCommitter {
  private static final Logger LOG = LoggerFactory.getLogger(PlanCommitter.class);
  /**
   * How many decisions are handled each time the lock is taken: few enough that heartbeats get it
   * in between.
   */
  private static final int SLICE = 128;
  private final ClusterState cluster;
  private final AutoCloseableLock writeLock;
  private final Preemption preemption;
  private final ShimMetrics metrics;

  /** Preempts a live container; the scheduler implements it. */
  public interface Preemption {
    /**
     * Preempts it.
     *
     * @param graceMs how long, from now, the AM has to end it itself
     */
    void preempt(ContainerEntry container, long graceMs, String reason);
  }

  public PlanCommitter(ClusterState cluster, Lock writeLock, Preemption preemption,
      ShimMetrics metrics) {
    this.cluster = cluster;
    this.writeLock = new AutoCloseableLock(writeLock);
    this.preemption = preemption;
    this.metrics = metrics;
  }

  /** The outcome of a plan. */
  static final class Outcome {
    final long round;
    final int decisions;
    final List<Refusal> refusals = new ArrayList<>();
    long firstContainer;
    long[] numbers = new long[16];
    int allocated;
    int preempted;
    int refused;

    private Outcome(PlanMessage plan) {
      this.round = plan.round;
      this.decisions = plan.decisions.size();
    }

    private void allocated(RMContainer container) {
      if (allocated == numbers.length) {
        numbers = Arrays.copyOf(numbers, 2 * allocated);
      }
      numbers[allocated++] = container.getContainerId().getContainerId();
    }

    long[] numbers() {
      return Arrays.copyOf(numbers, allocated);
    }
  }

  /** Carries out a plan, in order. Call it without the lock. */
  Outcome commit(PlanMessage plan) {
    Outcome outcome = new Outcome(plan);
    outcome.firstContainer = cluster.reserveContainerNumbers(wanted(plan));
    List<PlanMessage.Decision> decisions = plan.decisions;
    int next = 0;
    while (next < decisions.size()) {
      int end = Math.min(decisions.size(), next + SLICE);
      try (AutoCloseableLock held = writeLock.acquire()) {
        int most = outcome.allocated + SLICE;
        while (next < end && outcome.allocated < most) {
          carryOut(next, decisions.get(next), outcome);
          next++;
        }
      }
    }
    return noteRefusals(plan, outcome);
  }

  /** Refuses a whole plan. */
  Outcome refuse(PlanMessage plan, String reason) {
    Outcome outcome = new Outcome(plan);
    for (int i = 0; i < plan.decisions.size(); i++) {
      refuse(i, Math.max(1, count(plan.decisions.get(i))), reason, outcome);
    }
    return noteRefusals(plan, outcome);
  }

  /**
   * Notes refusals: the mirror assumed that every decision was carried out, so its reservations may
   * be wrong.
   */
  private Outcome noteRefusals(PlanMessage plan, Outcome outcome) {
    if (!outcome.refusals.isEmpty()) {
      try (AutoCloseableLock held = writeLock.acquire()) {
        cluster.reservations().refused(plan.decisions.stream()
            .anyMatch(decision -> decision instanceof PlanMessage.Reserve));
      }
    }
    return outcome;
  }

  private static long wanted(PlanMessage plan) {
    long sum = 0;
    for (PlanMessage.Decision decision : plan.decisions) {
      sum += Math.max(0, count(decision));
    }
    return sum;
  }

  private static int count(PlanMessage.Decision decision) {
    return decision instanceof PlanMessage.Allocate ? ((PlanMessage.Allocate) decision).count : 1;
  }

  private void carryOut(int index, PlanMessage.Decision decision, Outcome outcome) {
    if (decision instanceof PlanMessage.Allocate) {
      allocate(index, (PlanMessage.Allocate) decision, outcome);
    } else if (decision instanceof PlanMessage.Preempt) {
      preempt(index, (PlanMessage.Preempt) decision, outcome);
    } else {
      String reason = decision instanceof PlanMessage.Reserve
          ? reserve((PlanMessage.Reserve) decision) : unreserve((PlanMessage.Unreserve) decision);
      if (reason != null) {
        refuse(index, 1, reason, outcome);
      }
    }
  }

  private void allocate(int index, PlanMessage.Allocate decision, Outcome outcome) {
    LoomcardNode node = cluster.node(decision.node);
    LoomcardAttempt attempt = cluster.attempt(decision.attempt);
    String reason = missing(decision, node, attempt);
    if (reason != null) {
      refuse(index, Math.max(1, decision.count), reason, outcome);
      return;
    }
    SchedulerRequestKey key = keyOf(attempt, decision);
    if (key == null) {
      refuse(index, decision.count, ReasonCodes.ASK_GONE, outcome);
      return;
    }
    ContainerAllocation allocation = new ContainerAllocation(attempt, key, node);
    for (int done = 0; done < decision.count; done++) {
      reason = allocation.refusal();
      if (reason != null) {
        refuse(index, decision.count - done, reason, outcome);
        attempt.reportedAsks().sendAgain(key); // no round for it: the refusal causes one
        return;
      }
      RMContainer container = allocation.carryOut();
      cluster.containerAllocated(outcome.firstContainer + outcome.allocated, attempt, node,
          container, allocation.isAm());
      outcome.allocated(container);
      attempt.loomcardQueue().allocatedByPolicy();
      metrics.countPolicyAllocation();
      LOG.debug("{} allocated on {}", container.getContainerId(), node.getNodeID());
    }
    if (allocation.isExhausted()) {
      attempt.reportedAsks().forget(key);
    }
  }

  private String missing(PlanMessage.Allocate decision, LoomcardNode node,
      LoomcardAttempt attempt) {
    if (decision.count <= 0 || !cluster.wasNode(decision.node)
        || !cluster.wasAttempt(decision.attempt)) {
      return ReasonCodes.INVALID;
    }
    if (node == null) {
      return ReasonCodes.NODE_GONE;
    }
    return attempt == null ? ReasonCodes.ATTEMPT_GONE : null;
  }

  /** Returns the key of the ask as the policy knows it; null when the ask is gone. */
  private static SchedulerRequestKey keyOf(LoomcardAttempt attempt,
      PlanMessage.AskDecision decision) {
    return attempt.reportedAsks().key(decision.priority, decision.allocationRequestId);
  }

  private void preempt(int index, PlanMessage.Preempt decision, Outcome outcome) {
    ContainerEntry container = cluster.container(decision.container);
    if (container == null || container.isEnding()) {
      boolean known = decision.graceMs >= 0 && cluster.wasContainer(decision.container);
      refuse(index, 1, known ? ReasonCodes.STALE : ReasonCodes.INVALID, outcome);
      return;
    }
    preemption.preempt(container, decision.graceMs, decision.reason);
    outcome.preempted++;
    metrics.countPreemption();
  }

  private String reserve(PlanMessage.Reserve decision) {
    if (!cluster.wasNode(decision.node) || !cluster.wasAttempt(decision.attempt)) {
      return ReasonCodes.INVALID;
    }
    LoomcardNode node = cluster.node(decision.node);
    LoomcardAttempt attempt = cluster.attempt(decision.attempt);
    if (node == null || attempt == null) {
      return node == null ? ReasonCodes.NODE_GONE : ReasonCodes.ATTEMPT_GONE;
    }
    SchedulerRequestKey key = keyOf(attempt, decision);
    if (key == null) {
      return ReasonCodes.ASK_GONE;
    }
    ContainerAllocation allocation = new ContainerAllocation(attempt, key, node);
    String reason = allocation.refusalOnEmptyNode();
    if (reason == null) {
      reason = cluster.reservations().refusal(attempt, key, node, allocation.amounts());
    }
    if (reason == null) {
      cluster.reservations().put(attempt, key, node, allocation.amounts(), decision.untilMs);
    }
    return reason;
  }

  private String unreserve(PlanMessage.Unreserve decision) {
    LoomcardAttempt attempt = cluster.attempt(decision.attempt);
    if (attempt == null) {
      return cluster.wasAttempt(decision.attempt) ? ReasonCodes.ATTEMPT_GONE : ReasonCodes.INVALID;
    }
    SchedulerRequestKey key = keyOf(attempt, decision);
    return key != null && cluster.reservations().unreserve(attempt, key) ? null : ReasonCodes.STALE;
  }

  private void refuse(int index, int count, String reason, Outcome outcome) {
    outcome.refusals.add(new Refusal(index, count, reason));
    outcome.refused += count;
    metrics.countRefusals(reason, count);
    LOG.debug("decision {} of round {}: {} refused, {}", index, outcome.round, count, reason);
  }

  /**
   * Allocates one container for the fallback, if every check passes; the caller holds the write
   * lock.
   *
   * @return null when it was allocated, otherwise the reason code
   */
  String allocateByFallback(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node) {
    if (!isLive(node)) {
      return ReasonCodes.NODE_GONE;
    }
    ContainerAllocation allocation = new ContainerAllocation(attempt, key, node);
    String reason = allocation.refusal();
    if (reason != null) {
      return reason;
    }
    RMContainer container = allocation.carryOut();
    cluster.containerGivenByFallback(attempt, node, container, allocation.isAm());
    attempt.reportedAsks().changed(key);
    metrics.countFallbackAllocation();
    return null;
  }

  /** Returns what {@link #allocateByFallback} would return; allocates nothing. */
  String refusal(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node) {
    return isLive(node) ? new ContainerAllocation(attempt, key, node).refusal()
        : ReasonCodes.NODE_GONE;
  }

  private boolean isLive(LoomcardNode node) {
    return cluster.node(node.number()) == node;
  }

  /**
   * Serves an increase or a promotion of a running container, if every check passes; returns
   * whether it did. No node is to be chosen: it is the container's. The caller holds the write
   * lock.
   */
  boolean allocateResize(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node) {
    ContainerAllocation allocation = new ContainerAllocation(attempt, key, node);
    if (allocation.refusal() != null) {
      return false;
    }
    allocation.carryOut();
    return true;
  }
}
