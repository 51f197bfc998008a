package org.loomcard.yarn.rounds;

import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.loomcard.yarn.policyconfig.ConfigRefusedException;
import org.loomcard.yarn.policyconfig.PolicyConfig;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.PlanMessage;

/**
 * YARN's state as the rounds see them. The scheduler's state take YARN's locks themselves. Every
 * method is called on the round thread, one at a time; but {@link #fallbackRound} also on another
 * one, while the round thread waits for something else.
 */
public interface SchedulerState {

  /** Whether anything happened, but for refusals, that is a reason to ask the policy. */
  boolean hasPendingEvents();

  /** Whether an ask waits for a container, so that the next batch should not be held for long. */
  boolean hasDemand();

  /** Whether decisions of the last plan were refused, which the policy does not know yet. */
  boolean hasRefusals();

  /**
   * Writes what happened since the last close: outcomes first, then the events in order, then asks
   * and blacklists as they stand now; and calls {@link BatchWriter#check}.
   *
   * <p>With {@code snapshot} everything is written from scratch (nodes, applications, attempts,
   * containers, asks, blacklists) and what was kept for the next batch, outcomes and events, is
   * forgotten: the snapshot already holds it. The records {@code snapshot}, {@code config} and
   * {@code saved} were then written by the caller, and queues are numbered by the policy
   * configuration applied last; a swap is always followed by a snapshot.
   */
  void close(BatchWriter out, boolean snapshot);

  /**
   * Carries out a plan, each decision under YARN's own checks, and keeps the outcomes for the next
   * close.
   *
   * @param late refuse every decision with LATE
   */
  CommitReport commit(PlanMessage plan, boolean late);

  /**
   * One round of the Java FIFO through the same commit path; returns the number of containers
   * allocated. It lasts some 20 ms at most, holds YARN's lock for a few allocations at a time, and
   * begins no sooner than a short pause after the one before. From any thread, also while a policy
   * is asked.
   */
  int fallbackRound();

  /** Whether the last round of the fallback ran out of time: the next one goes on from there. */
  default boolean isFallbackUnfinished() {
    return false;
  }

  /**
   * Replaces tree, limits and ACLs at once.
   *
   * @throws ConfigRefusedException when a queue with live applications would vanish or stop being a
   *     leaf; nothing has changed then
   */
  void apply(PolicyConfig policyConfig, int version) throws ConfigRefusedException;

  /**
   * What {@link #apply} brings from now on is a trial: until {@link #endTrial} no application comes
   * into a queue that only the new or only the old policy configuration has, so that either can
   * govern afterwards.
   */
  default void beginTrial() {
  }

  /**
   * Old or new policy configuration governs for good; applications that waited for that come in.
   */
  default void endTrial() {
  }

  /**
   * Whether {@link #apply} would take it; changes nothing. From any thread.
   *
   * @throws ConfigRefusedException when it would not
   */
  void check(PolicyConfig policyConfig) throws ConfigRefusedException;

  /**
   * Forgets what was kept for the next batch, and the headroom that the policy set for AMs: the
   * fallback is serving, and a snapshot will follow.
   */
  void clearPendingEvents();

  /**
   * The asks that have waited for {@code loomcard.progress.deadline-ms} although they could have
   * been served, at most one of each queue. Called several times within that deadline.
   *
   * @param waits what the policy states of asks that wait
   */
  default List<StalledAsk> stalled(long nowMs, WaitReasons waits) {
    return Collections.emptyList();
  }

  /** Someone else served for a while: what waits now has only begun to wait. */
  default void forgetStalled() {
  }

  /** One round of the fallback for these leaf queues alone; how many containers it allocated. */
  default int serveStalled(Set<String> queues, long nowMs, WaitReasons waits) {
    return 0;
  }

  /** Containers that plans placed in a leaf queue since the start. */
  default long allocationsByPolicy(String queue) {
    return 0;
  }
}
