package org.loomcard.yarn.rounds;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.loomcard.yarn.wire.PlanMessage;

/**
 * Why asks wait, as the plans state it. A plan names a reason only when it is another one than
 * before, so the last one stands; a reader looks up the asks that are still outstanding.
 */
final class WaitReasons {
  /** Reasons of asks long gone are pushed out by newer ones. */
  private static final int KEPT = 20_000;
  private final Map<List<Long>, PlanMessage.Wait> reasons = new LinkedHashMap<>();

  synchronized void update(List<PlanMessage.Wait> reported) {
    for (PlanMessage.Wait wait : reported) {
      List<Long> key =
          Arrays.asList((long) wait.attempt, (long) wait.priority, wait.allocationRequestId);
      reasons.remove(key);
      reasons.put(key, wait);
    }
    while (reasons.size() > KEPT) {
      reasons.remove(reasons.keySet().iterator().next());
    }
  }

  /** A snapshot follows: the policy states them all again. */
  synchronized void clear() {
    reasons.clear();
  }

  synchronized List<PlanMessage.Wait> copy() {
    return new ArrayList<>(reasons.values());
  }
}
