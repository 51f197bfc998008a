package org.loomcard.yarn.rounds;

import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.loomcard.yarn.wire.PlanMessage;

/**
 * Why asks wait, as the plans state it, and until when a rule of the policy keeps them waiting. A
 * plan names a reason only when it differs from the earlier one, so the last one stays valid.
 * Readers look up only asks that are still outstanding.
 */
public final class WaitReasons {
  /** How many reasons are kept; newer ones push out those of asks that ended long ago. */
  private static final int KEPT = 20_000;
  /** Stands for a time when no rule is stated. */
  private static final long NEVER = -1;
  private final Map<List<Long>, PlanMessage.Wait> reasons = new LinkedHashMap<>();
  private final Map<Integer, PlanMessage.QueueWait> queues = new HashMap<>();
  private boolean busy;

  public WaitReasons() {
  }

  /** Takes over what a plan states. */
  public synchronized void update(List<PlanMessage.Wait> reported,
      List<PlanMessage.QueueWait> ofQueues) {
    for (PlanMessage.Wait wait : reported) {
      List<Long> key = key(wait.attempt, wait.priority, wait.allocationRequestId);
      reasons.remove(key);
      reasons.put(key, wait);
    }
    while (reasons.size() > KEPT) {
      reasons.remove(reasons.keySet().iterator().next());
    }
    for (PlanMessage.QueueWait wait : ofQueues) {
      queues.put(wait.queue, wait);
    }
  }

  private static List<Long> key(int attempt, int priority, long allocationRequestId) {
    return Arrays.asList((long) attempt, (long) priority, allocationRequestId);
  }

  /** Says whether the last plan allocated about as much as a plan may. */
  public synchronized void setBusy(boolean full) {
    busy = full;
  }

  /** Whether the policy allocates as fast as it can: an ask may then wait for its turn. */
  public synchronized boolean isBusy() {
    return busy;
  }

  /** Forgets all reasons: a snapshot follows, and the policy states them all again. */
  public synchronized void clear() {
    busy = false;
    reasons.clear();
    queues.clear();
  }

  /** Returns the last reason stated for an ask; null: none. */
  public synchronized String reason(int attempt, int priority, long allocationRequestId) {
    PlanMessage.Wait wait = reasons.get(key(attempt, priority, allocationRequestId));
    return wait == null ? null : wait.reason;
  }

  /** Returns until when a rule of the policy keeps an ask waiting; below 0: no rule does. */
  public synchronized long untilMs(int attempt, int priority, long allocationRequestId) {
    PlanMessage.Wait wait = reasons.get(key(attempt, priority, allocationRequestId));
    return wait == null || wait.untilMs == null ? NEVER : wait.untilMs;
  }

  /**
   * Returns what was stated last for all asks below a queue, by the queue's number; null: nothing.
   */
  public synchronized PlanMessage.QueueWait of(int queue) {
    return queues.get(queue);
  }
}
