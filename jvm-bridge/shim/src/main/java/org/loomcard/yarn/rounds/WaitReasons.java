package org.loomcard.yarn.rounds;

import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.loomcard.yarn.wire.PlanMessage;

/**
 * Why asks wait, as the plans state it, and until when a rule of the policy's keeps them waiting. A
 * plan names a reason only when it is another one than before, so the last one stands; a reader
 * looks up the asks that are still outstanding.
 */
public final class WaitReasons {
  /** Reasons of asks long gone are pushed out by newer ones. */
  private static final int KEPT = 20_000;
  /** Instead of a time: no rule is stated. */
  private static final long NEVER = -1;
  private final Map<List<Long>, PlanMessage.Wait> reasons = new LinkedHashMap<>();
  private final Map<Integer, PlanMessage.QueueWait> queues = new HashMap<>();

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

  /** A snapshot follows: the policy states them all again. */
  public synchronized void clear() {
    reasons.clear();
    queues.clear();
  }

  /** What was stated last of an ask; null: nothing. */
  public synchronized String reason(int attempt, int priority, long allocationRequestId) {
    PlanMessage.Wait wait = reasons.get(key(attempt, priority, allocationRequestId));
    return wait == null ? null : wait.reason;
  }

  /** Until when a rule of the policy's keeps an ask waiting; below 0: none does. */
  public synchronized long untilMs(int attempt, int priority, long allocationRequestId) {
    PlanMessage.Wait wait = reasons.get(key(attempt, priority, allocationRequestId));
    return wait == null || wait.untilMs == null ? NEVER : wait.untilMs;
  }

  /** What was stated last of all asks below a queue, by the queue's number; null: nothing. */
  public synchronized PlanMessage.QueueWait of(int queue) {
    return queues.get(queue);
  }
}
