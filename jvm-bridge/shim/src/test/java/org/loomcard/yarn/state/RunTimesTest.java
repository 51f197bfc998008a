package org.loomcard.yarn.state;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

/** Launch and end of containers, estimated from heartbeats. */
public class RunTimesTest {
  private static final long BEAT_MS = 1000;

  /**
   * Returns the estimate for a task launched at {@code launch}, with heartbeats at full seconds.
   */
  private static long estimate(long launch, long length) {
    RunTimes times = new RunTimes();
    times.fetched(launch);
    long end = launch + length;
    for (long beat = BEAT_MS;; beat += BEAT_MS) {
      if (end <= beat) {
        times.ended(beat - BEAT_MS, beat);
        return times.endedMs() - times.launchedMs();
      }
      if (launch <= beat && times.startedMs() == null) {
        times.started(beat - BEAT_MS, beat);
      }
    }
  }

  /** Tasks keep their length on average, whatever the phase of the heartbeats. */
  @Test
  public void shortTasksKeepTheirLengthOnAverage() {
    for (long length : new long[] {700, 1500, 4000}) {
      long sum = 0;
      for (long launch = 1; launch <= BEAT_MS; launch++) {
        sum += estimate(launch, length);
      }
      double mean = (double) sum / BEAT_MS;
      assertEquals("mean of tasks of " + length + " ms", length, mean, 0.05 * length);
    }
  }

  /**
   * A launch after the heartbeat in which the AM fetched is estimated in the middle of the known
   * interval.
   */
  @Test
  public void aLateLaunchIsTakenForTheMiddle() {
    RunTimes times = new RunTimes();
    times.fetched(500);
    times.started(2000, 3000);
    assertEquals(2500L, (long) times.launchedMs());
    times.cut(3100);
    times.ended(3000, 4000);
    assertEquals("the first end counts", 3100L, (long) times.endedMs());
  }

  /** A container that ends and was never fetched has no launch. */
  @Test
  public void whatNeverRanHasNoLaunch() {
    RunTimes times = new RunTimes();
    times.cut(10);
    assertNull(times.launchedMs());
    assertNull(times.startedMs());
    assertTrue(times.endedMs() == 10);
  }
}
