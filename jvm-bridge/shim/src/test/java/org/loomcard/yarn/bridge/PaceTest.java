package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.junit.Test;

/** When rounds run: signals, holding back, wake-ups, and the waits of the breaker. */
public class PaceTest {

  /** A signal that came before the wait ends it at once: none is lost in between. */
  @Test
  public void aSignalBeforeTheWaitIsNotLost() {
    Pace pace = new Pace(0);
    pace.take();
    pace.signal();
    assertTrue(millisOf(() -> pace.await(20_000)) < 10_000);
  }

  /** A signal from another thread ends the wait. */
  @Test
  public void aSignalEndsTheWait() throws Exception {
    Pace pace = new Pace(0);
    Thread waiting = new Thread(() -> pace.await(60_000));
    waiting.start();
    pace.signal();
    waiting.join(20_000);
    assertFalse(waiting.isAlive());
  }

  /** A small batch is held back; a large one, or many signals, are not. */
  @Test
  public void holdsSmallBatchesOnly() {
    Pace pace = new Pace(40);
    pace.signal();
    assertTrue(millisOf(() -> pace.hold(3)) >= 40);
    Pace never = new Pace(60_000);
    assertTrue(millisOf(() -> never.hold(500)) < 30_000);
    for (int i = 0; i < 100; i++) {
      never.signal();
    }
    assertTrue(millisOf(() -> never.hold(3)) < 30_000);
  }

  /** One wake-up an instance: a new one replaces it, none removes it, others keep theirs. */
  @Test
  public void keepsOneWakeUpAnInstance() {
    WakeUps wakeUps = new WakeUps();
    assertEquals(Long.MAX_VALUE, wakeUps.earliestMs());
    wakeUps.update(Arrays.asList(new PlanMessage.Timer(3, 50L), new PlanMessage.Timer(1, 40L),
        new PlanMessage.Timer(2, 90L)));
    wakeUps.update(Arrays.asList(new PlanMessage.Timer(1, 60L)));
    assertEquals(50, wakeUps.earliestMs());
    assertEquals(Arrays.asList(1, 3), wakeUps.takeDue(60));
    wakeUps.update(Arrays.asList(new PlanMessage.Timer(2, null)));
    assertEquals(Long.MAX_VALUE, wakeUps.earliestMs());
  }

  /** The breaker opens after so many bad rounds in a row, and a good one starts the count anew. */
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

  /** The waits double to the most, and shrink again once the policy has proved good. */
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

  private static Breaker breaker() {
    Configuration conf = new Configuration(false);
    conf.setInt(BridgeConfig.RESTART_BACKOFF_MAX_MS, 5000);
    return new Breaker(new BridgeConfig(conf));
  }

  private static long millisOf(Runnable task) {
    long begin = System.nanoTime();
    task.run();
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
  }
}
