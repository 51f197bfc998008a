package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.junit.Test;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.process.Breaker;
import org.loomcard.yarn.rounds.RefusalBackoff;
import org.loomcard.yarn.rounds.Timers;
import org.loomcard.yarn.wire.PlanMessage;

/** When rounds run: signals, delaying, wake-ups, and the waits of the breaker. */
public class RoundThrottleTest {
  private static final long FOR_EVER_MS = 3_600_000;
  private static final long SHORT_MS = 20;

  /** A signal that came before the wait ends it at once: no signal is lost in between. */
  @Test
  public void aSignalBeforeTheWaitIsNotLost() throws Exception {
    RoundThrottle throttle = new RoundThrottle(0);
    throttle.take();
    throttle.signal();
    awaitEnd(started(() -> throttle.await(FOR_EVER_MS)));
  }

  /** A signal from another thread ends the wait. */
  @Test
  public void aSignalEndsTheWait() throws Exception {
    RoundThrottle throttle = new RoundThrottle(0);
    Thread waiting = started(() -> throttle.await(FOR_EVER_MS));
    throttle.signal();
    awaitEnd(waiting);
  }

  /** A small batch is delayed until many signals have come; a large one is not delayed at all. */
  @Test
  public void delaysSmallBatchesOnly() throws Exception {
    RoundThrottle throttle = new RoundThrottle(FOR_EVER_MS);
    throttle.signal();
    Thread delayed = started(() -> throttle.delay(3, () -> true));
    Until.waitUntil("the batch is delayed", () -> delayed.getState() == Thread.State.TIMED_WAITING);
    for (int i = 0; i < 100; i++) {
      throttle.signal();
    }
    awaitEnd(delayed);
    awaitEnd(started(() -> new RoundThrottle(FOR_EVER_MS).delay(500, () -> true)));
    awaitEnd(started(() -> new RoundThrottle(1).delay(3, () -> false)));
  }

  /** Once an ask waits, neither news nor other asks wake the thread before the batch is due. */
  @Test
  public void newsDoNotWakeADelayedBatch() throws Exception {
    RoundThrottle throttle = new RoundThrottle(FOR_EVER_MS);
    AtomicInteger looks = new AtomicInteger();
    throttle.take();
    Thread delayed = started(() -> throttle.delay(3, () -> looks.incrementAndGet() > 0));
    Until.waitUntil("the batch is delayed", () -> delayed.getState() == Thread.State.TIMED_WAITING);
    for (int i = 0; i < 30; i++) {
      throttle.signal();
      throttle.signalDemand();
    }
    for (int i = 0; i < 10; i++) {
      throttle.signal();
    }
    awaitEnd(delayed);
    assertEquals("it looks before it waits and when it wakes", 2, looks.get());
  }

  /** The delay counts from the previous batch: after a quiet time an ask is sent at once. */
  @Test
  public void anAskAfterAQuietTimeIsNotDelayed() throws Exception {
    RoundThrottle throttle = new RoundThrottle(SHORT_MS);
    long after = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(SHORT_MS);
    Until.waitUntil("the delay is over", () -> System.nanoTime() > after);
    AtomicInteger looks = new AtomicInteger();
    throttle.delay(3, () -> looks.getAndIncrement() == 0);
    assertEquals("it looks once and does not wait", 1, looks.get());
  }

  /** News for which no ask waited delay no ask: it is sent at once, however recent they are. */
  @Test
  public void anAskAfterABatchWithoutDemandIsNotDelayed() throws Exception {
    RoundThrottle throttle = new RoundThrottle(SHORT_MS, 0);
    long after = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(SHORT_MS);
    Until.waitUntil("the delay is over", () -> System.nanoTime() > after);
    throttle.delay(3, () -> false);
    AtomicInteger looks = new AtomicInteger();
    throttle.delay(3, () -> looks.getAndIncrement() >= 0);
    assertEquals("it looks once and does not wait", 1, looks.get());
  }

  /** If no application waits for the news, it is delayed for longer, until one asks. */
  @Test
  public void demandEndsALongDelay() throws Exception {
    RoundThrottle throttle = new RoundThrottle(0, FOR_EVER_MS);
    AtomicBoolean asked = new AtomicBoolean();
    Thread delayed = started(() -> throttle.delay(3, asked::get));
    Until.waitUntil("the batch is delayed", () -> delayed.getState() == Thread.State.TIMED_WAITING);
    asked.set(true);
    throttle.signalDemand();
    awaitEnd(delayed);
  }

  /** Each instance has one wake-up: a new one replaces it, none removes it, others keep theirs. */
  @Test
  public void keepsOneWakeUpAnInstance() {
    Timers wakeUps = new Timers();
    assertEquals(Long.MAX_VALUE, wakeUps.earliestMs());
    wakeUps.update(Arrays.asList(new PlanMessage.Timer(3, 50L), new PlanMessage.Timer(1, 40L),
        new PlanMessage.Timer(2, 90L)));
    wakeUps.update(Arrays.asList(new PlanMessage.Timer(1, 60L)));
    assertEquals(50, wakeUps.earliestMs());
    assertEquals(Arrays.asList(1, 3), wakeUps.takeDue(60));
    wakeUps.update(Arrays.asList(new PlanMessage.Timer(2, null)));
    assertEquals(Long.MAX_VALUE, wakeUps.earliestMs());
  }

  /** The breaker opens after a number of bad rounds in a row; a good one resets the count. */
  @Test
  public void opensAfterBadRoundsInARow() {
    Breaker breaker = breaker();
    assertFalse(breaker.bad());
    assertFalse(breaker.bad());
    breaker.good();
    assertFalse(breaker.bad());
    assertFalse(breaker.bad());
    assertTrue(breaker.bad());
  }

  /** The waits double up to the maximum, and shrink again after the policy has proved good. */
  @Test
  public void waitsLongerEachTime() {
    Breaker breaker = breaker();
    long[] waits = new long[5];
    for (int i = 0; i < waits.length; i++) {
      waits[i] = breaker.nextBackoffMs();
    }
    assertArrayEquals(new long[] {500, 1000, 2000, 4000, 5000}, waits);
    for (int i = 0; i < 20; i++) {
      breaker.good();
    }
    assertEquals(500, breaker.nextBackoffMs());
  }

  /** Each refused round makes the pause twice as long, and a good one resets it. */
  @Test
  public void pausesLongerAfterEachRefusedRound() {
    RefusalBackoff refusals = new RefusalBackoff(3);
    long[] pauses = new long[10];
    boolean[] rebuilds = new boolean[10];
    for (int i = 0; i < pauses.length; i++) {
      rebuilds[i] = refusals.add(1000);
      pauses[i] = refusals.untilMs() - 1000;
    }
    assertArrayEquals(new long[] {10, 20, 40, 80, 160, 320, 640, 1280, 2000, 2000}, pauses);
    assertArrayEquals(new boolean[] {false, false, true, false, false, true, false, false, false,
        false}, rebuilds);
    refusals.clear();
    assertEquals(0, refusals.untilMs());
    assertFalse(refusals.add(1000));
    assertEquals(1010, refusals.untilMs());
  }

  private static Breaker breaker() {
    Configuration conf = new Configuration(false);
    conf.setInt(BridgeConfig.RESTART_BACKOFF_MAX_MS, 5000);
    return new Breaker(new BridgeConfig(conf));
  }

  private static Thread started(Runnable task) {
    Thread thread = new Thread(task);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private static void awaitEnd(Thread thread) throws InterruptedException {
    Until.waitUntil("the wait is over", () -> !thread.isAlive());
  }
}
