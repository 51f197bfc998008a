package org.loomcard.yarn.rounds;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.loomcard.yarn.wire.PlanMessage;

/**
 * The next wake-up that each instance wants: one per instance. An instance that was not called
 * keeps its wake-up.
 */
public final class Timers {
  private final Map<Integer, Long> atMs = new HashMap<>();

  public void update(List<PlanMessage.Timer> timers) {
    for (PlanMessage.Timer timer : timers) {
      if (timer.atMs == null) {
        atMs.remove(timer.instance);
      } else {
        atMs.put(timer.instance, timer.atMs);
      }
    }
  }

  /** The earliest wake-up; {@link Long#MAX_VALUE} when there is none. */
  public long earliestMs() {
    long earliest = Long.MAX_VALUE;
    for (long at : atMs.values()) {
      earliest = Math.min(earliest, at);
    }
    return earliest;
  }

  /** Removes and returns the instances that are due, in order. */
  public List<Integer> takeDue(long nowMs) {
    TreeSet<Integer> due = new TreeSet<>();
    for (Iterator<Map.Entry<Integer, Long>> each = atMs.entrySet().iterator(); each.hasNext();) {
      Map.Entry<Integer, Long> wakeUp = each.next();
      if (wakeUp.getValue() <= nowMs) {
        due.add(wakeUp.getKey());
        each.remove();
      }
    }
    return new ArrayList<>(due);
  }

  void clear() {
    atMs.clear();
  }
}
