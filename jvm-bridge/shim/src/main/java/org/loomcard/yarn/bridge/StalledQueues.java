package org.loomcard.yarn.bridge;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Consumer;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.rounds.BridgeCounters;
import org.loomcard.yarn.rounds.QueueStall;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.rounds.StalledAsk;
import org.loomcard.yarn.rounds.WaitReasons;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The watchdog for progress. When a policy leaves an ask waiting although it could be served, the
 * fallback serves the queue for a while; then the policy is tried again there. Each further time in
 * a row the policy rests for twice as long, like a policy that raises. On the round thread, except
 * {@link #all}.
 */
final class StalledQueues {
  static final long FIRST_REST_MS = 1_000;
  static final long LONGEST_REST_MS = 300_000;
  /**
   * After so many containers from the policy, the next stall of the queue counts as the first
   * again.
   */
  static final int GOOD_ALLOCATIONS = 20;
  /** The pause between two rounds of the fallback, for the policies of the other queues. */
  private static final long SERVE_EVERY_MS = 100;
  private static final Logger LOG = LoggerFactory.getLogger(StalledQueues.class);
  private final SchedulerState scheduler;
  private final BridgeCounters counters;
  private final WaitReasons waits;
  private final Consumer<String> onStall;
  private final long lookEveryMs;
  private final Map<String, QueueStall> stalls = new ConcurrentSkipListMap<>();
  /** How many containers the policy had placed in a queue when its rest ended. */
  private final Map<String, Long> allocationsBefore = new HashMap<>();
  private Set<String> resting = new HashSet<>();
  private long lookAtMs;
  private long serveAtMs;

  /** @param onStall called with the reason when a queue has stalled */
  StalledQueues(BridgeConfig config, SchedulerState scheduler, BridgeCounters counters,
      WaitReasons waits, Consumer<String> onStall) {
    this.scheduler = scheduler;
    this.counters = counters;
    this.waits = waits;
    this.onStall = onStall;
    this.lookEveryMs = config.progressDeadlineMs == 0 || config.inlineWaitMs > 0 ? 0
        : Math.max(1, config.progressDeadlineMs / BridgeConfig.PROGRESS_LOOKS);
  }

  /** The stalls that are not forgotten yet, by queue. */
  List<QueueStall> all() {
    return new ArrayList<>(stalls.values());
  }

  /** Whether the fallback serves any queue now. */
  boolean isServing() {
    return !resting.isEmpty();
  }

  /**
   * Forgets all stalls: another policy or process begins, or the fallback serves every queue. How
   * long asks have waited is not forgotten: a swap must not make them wait for another deadline.
   */
  void clear() {
    stalls.clear();
    allocationsBefore.clear();
    resting = new HashSet<>();
  }

  /** Looks for stalls, if it is time to, and serves the queues that have stalled. */
  void step(long nowMs) {
    if (lookEveryMs == 0) {
      return;
    }
    if (nowMs >= lookAtMs) {
      lookAtMs = nowMs + lookEveryMs;
      for (StalledAsk ask : scheduler.stalled(nowMs, waits)) {
        if (!resting.contains(ask.queue)) {
          stall(ask, nowMs);
        }
      }
      endRests(nowMs);
    }
    if (!resting.isEmpty() && nowMs >= serveAtMs) {
      counters.countFallback(scheduler.serveStalled(resting, nowMs, waits));
      serveAtMs = nowMs + SERVE_EVERY_MS;
    }
  }

  /** Returns how long the round thread may wait before the next step, at most {@code most}. */
  long toNextMs(long nowMs, long most) {
    if (lookEveryMs == 0) {
      return most;
    }
    long next = resting.isEmpty() ? lookAtMs : Math.min(lookAtMs, serveAtMs);
    return Math.max(0, Math.min(most, next - nowMs));
  }

  private void stall(StalledAsk ask, long nowMs) {
    QueueStall before = stalls.get(ask.queue);
    int times = before == null ? 1 : before.times + 1;
    long restMs = Math.min(LONGEST_REST_MS, FIRST_REST_MS << Math.min(times - 1, 10));
    stalls.put(ask.queue, new QueueStall(ask.queue, nowMs, nowMs + restMs, times, ask.toString()));
    resting.add(ask.queue);
    serveAtMs = nowMs;
    counters.stalls++;
    String text = "queue " + ask.queue + " is stalled: " + ask + ". The FIFO serves this queue for "
        + restMs + " ms, then its policy is tried again";
    LOG.warn("{}", text);
    ask.diagnose("Loomcard: " + text);
    onStall.accept(text);
  }

  private void endRests(long nowMs) {
    for (QueueStall stall : all()) {
      long allocations = scheduler.allocationsByPolicy(stall.queue);
      if (allocations < 0) { // a created queue that was removed
        resting.remove(stall.queue);
        forget(stall.queue);
      } else if (resting.contains(stall.queue)) {
        if (nowMs >= stall.untilMs) {
          resting.remove(stall.queue);
          allocationsBefore.put(stall.queue, allocations);
          LOG.info("Queue {}: its policy is tried again", stall.queue);
        }
      } else if (allocations - allocationsBefore.get(stall.queue) >= GOOD_ALLOCATIONS) {
        forget(stall.queue);
      }
    }
  }

  private void forget(String queue) {
    stalls.remove(queue);
    allocationsBefore.remove(queue);
  }
}
