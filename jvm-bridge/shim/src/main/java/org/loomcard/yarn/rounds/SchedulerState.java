package org.loomcard.yarn.rounds;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.loomcard.yarn.config.ConfigRefusedException;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.PlanMessage;

/**
 * YARN's state for the rounds. Its methods take YARN's locks themselves. Every method is called on
 * the round thread, one at a time. Only {@link #fallbackRound} is also called on another thread,
 * while the round thread waits for something else.
 */
public interface SchedulerState {

  /** Whether anything happened, except refusals, that is a reason to call the policy. */
  boolean hasPendingEvents();

  /** Whether an ask waits for a container. */
  boolean hasDemand();

  /** Whether an ask came so lately that the next batch should not be delayed for long. */
  boolean isUrgent();

  /** Whether decisions of the last plan were refused and the policy does not know it yet. */
  boolean hasRefusals();

  /**
   * Writes what happened since the last close: first outcomes, then the events in order, then asks
   * and blacklists in their present state. Then calls {@link BatchWriter#check}.
   *
   * <p>With {@code snapshot} everything is written from scratch (nodes, applications, attempts,
   * containers, asks, blacklists). Outcomes and events that were kept for the next batch are
   * forgotten: the snapshot already contains them. The caller has then written the records {@code
   * snapshot}, {@code config} and {@code saved}. Queues are numbered by the policy configuration
   * applied last; a snapshot always follows a swap.
   */
  void close(BatchWriter out, boolean snapshot);

  /**
   * Carries out a plan, each decision under YARN's own checks, and keeps the outcomes for the next
   * close.
   *
   * @param late whether to refuse every decision with LATE
   */
  CommitReport commit(PlanMessage plan, boolean late);

  /**
   * Runs one round of the Java FIFO through the same commit path; returns the number of containers
   * allocated. It lasts about 20 ms at most, takes YARN's lock for a few allocations at a time, and
   * begins no sooner than a short pause after the one before. Any thread may call it, also while a
   * policy is being called.
   */
  int fallbackRound();

  /** Whether the last round of the fallback ran out of time; the next one continues from there. */
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
   * Returns the configuration in force as it is to be from now on, with the queues that submissions
   * requested and without those that were created and are idle; null when nothing is to be done.
   * Call {@link #apply} with it, unless it is the one in force, then {@link #endTrial}.
   */
  default PolicyConfig changedQueues(long nowMs) {
    return null;
  }

  /**
   * Begins the rounds. Returns the configuration in force: queues were created for applications
   * that were recovered. Null: the one applied last.
   */
  default PolicyConfig begin() {
    return null;
  }

  /**
   * Begins a trial of what {@link #apply} brings from now on. Until {@link #endTrial} no
   * application enters a queue that only the new or only the old policy configuration has, so that
   * either can govern afterwards.
   */
  default void beginTrial() {
  }

  /**
   * Ends the trial: the old or the new policy configuration now governs, and the applications that
   * waited for that enter.
   */
  default void endTrial() {
  }

  /**
   * Checks whether {@link #apply} would accept it; changes nothing. Any thread may call it.
   *
   * @throws ConfigRefusedException when it would not
   */
  void check(PolicyConfig policyConfig) throws ConfigRefusedException;

  /**
   * Forgets what was kept for the next batch, and the headroom that the policy set for AMs: the
   * fallback serves now, and a snapshot will follow.
   */
  void clearPendingEvents();

  /**
   * Returns the asks that have waited for {@code loomcard.progress.deadline-ms} although they could
   * have been served, at most one of each queue. Call it several times within that deadline.
   *
   * @param waits what the policy states about asks that wait
   */
  default List<StalledAsk> stalled(long nowMs, WaitReasons waits) {
    return Collections.emptyList();
  }

  /**
   * Runs one round of the fallback for these leaf queues alone; returns how many containers it
   * allocated.
   */
  default int serveStalled(Set<String> queues, long nowMs, WaitReasons waits) {
    return 0;
  }

  /** Returns how many containers plans placed in a leaf queue; below 0 if there is none. */
  default long allocationsByPolicy(String queue) {
    return 0;
  }

  /**
   * Shows sentences that say why applications wait in YARN's diagnostics.
   *
   * @param sentences by the applications' numbers; null: it waits no longer
   */
  default void diagnose(Map<Integer, String> sentences) {
  }

  /** Shows the same sentence for all applications that wait; null: none for any application. */
  default void diagnoseAll(String sentence) {
  }

  /** Whether any application's diagnostics still show a sentence. */
  default boolean isDiagnosing() {
    return false;
  }
}
