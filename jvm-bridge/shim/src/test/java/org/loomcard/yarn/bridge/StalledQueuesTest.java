package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.junit.Test;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.rounds.BridgeCounters;
import org.loomcard.yarn.rounds.QueueStall;
import org.loomcard.yarn.rounds.StalledAsk;
import org.loomcard.yarn.rounds.WaitReasons;

/** A queue that stalled is served by the fallback for a while, then its policy is tried again. */
public class StalledQueuesTest {
  private static final long LOOK_MS = 100;
  private final TinySchedulerState scheduler = new TinySchedulerState();
  private final BridgeCounters counters = new BridgeCounters();
  private final List<String> told = new ArrayList<>();
  private final List<String> reasons = new ArrayList<>();
  private final StalledQueues queues = queues(1600);

  private StalledQueues queues(long deadlineMs) {
    Configuration conf = new Configuration(false);
    conf.setLong(BridgeConfig.PROGRESS_DEADLINE_MS, deadlineMs);
    return new StalledQueues(new BridgeConfig(conf), scheduler, counters, new WaitReasons(),
        reasons::add);
  }

  private StalledAsk ask(String queue) {
    return new StalledAsk(queue, "application_1_0001", 20, 0, "<memory:1024, vCores:1>",
        "h1:1234", 1600, null, told::add);
  }

  /** Only the queue that stalled is served, for a second; its application and the log say so. */
  @Test
  public void theFallbackServesThatQueueForASecond() {
    scheduler.stalled = Collections.singletonList(ask("root.a"));
    queues.step(0);
    assertTrue(queues.isServing());
    assertEquals(Collections.singletonList(Collections.singleton("root.a")),
        scheduler.servedQueues);
    assertEquals(1, counters.stalls());
    assertEquals(1, counters.allocatedByFallback());
    QueueStall stall = queues.all().get(0);
    assertEquals(1000, stall.untilMs);
    assertTrue(told.get(0), told.get(0).startsWith("Loomcard: queue root.a is stalled: "
        + "application_1_0001 has waited 1600 ms for a container of <memory:1024, vCores:1>"));
    assertEquals(told.get(0), "Loomcard: " + reasons.get(0));
    queues.step(50);
    assertEquals("not at every step", 1, scheduler.servedQueues.size());
    queues.step(999);
    assertEquals(2, scheduler.servedQueues.size());
    queues.step(1100);
    assertFalse("its policy is tried again", queues.isServing());
    assertEquals(1, queues.all().get(0).times);
  }

  /**
   * Each time in a row its pause is twice as long; after it has served, the next counts as the
   * first.
   */
  @Test
  public void itRestsForTwiceAsLongUntilItHasServed() {
    long nowMs = 0;
    for (long restMs : Arrays.asList(1000L, 2000L, 4000L)) {
      scheduler.stalled = Collections.singletonList(ask("root.a"));
      queues.step(nowMs);
      assertEquals(nowMs + restMs, queues.all().get(0).untilMs);
      nowMs += restMs;
      queues.step(nowMs);
      nowMs += LOOK_MS;
    }
    scheduler.allocationsByPolicy = StalledQueues.GOOD_ALLOCATIONS - 1;
    queues.step(nowMs);
    assertEquals(3, queues.all().get(0).times);
    scheduler.allocationsByPolicy++;
    queues.step(nowMs + LOOK_MS);
    assertEquals(Collections.emptyList(), queues.all());
    for (int times = 1; times <= 12; times++) {
      scheduler.stalled = Collections.singletonList(ask("root.a"));
      nowMs = queues.all().isEmpty() ? nowMs + 2 * LOOK_MS : queues.all().get(0).untilMs + LOOK_MS;
      queues.step(nowMs);
      queues.step(queues.all().get(0).untilMs);
    }
    assertEquals(StalledQueues.LONGEST_REST_MS,
        queues.all().get(0).untilMs - queues.all().get(0).atMs);
  }

  /** A created queue that was removed when idle is forgotten. */
  @Test
  public void aQueueThatIsGoneIsForgotten() throws Exception {
    scheduler.stalled = Collections.singletonList(ask("root.users.bob"));
    queues.step(0);
    assertTrue(queues.isServing());
    scheduler.allocationsByPolicy = -1;
    queues.step(LOOK_MS);
    assertFalse(queues.isServing());
    assertEquals(Collections.emptyList(), queues.all());
  }

  /** The watchdog looks only as often as needed; a deadline of 0 turns it off. */
  @Test
  public void itIsTimeToLookSixteenTimesADeadline() {
    queues.step(0);
    assertEquals(LOOK_MS, queues.toNextMs(0, 1000));
    assertEquals(40, queues.toNextMs(60, 1000));
    assertEquals(30, queues.toNextMs(60, 30));
    StalledQueues off = queues(0);
    scheduler.stalled = Collections.singletonList(ask("root.a"));
    off.step(5000);
    assertEquals(Collections.emptyList(), off.all());
    assertEquals(1000, off.toNextMs(5000, 1000));
  }

  /** A new policy starts without a record of stalls; how long asks have waited is kept. */
  @Test
  public void anotherPolicyBeginsAnew() {
    scheduler.stalled = Arrays.asList(ask("root.a"), ask("root.b"));
    queues.step(0);
    assertEquals(2, queues.all().size());
    queues.clear();
    assertEquals(Collections.emptyList(), queues.all());
    assertFalse(queues.isServing());
  }
}
