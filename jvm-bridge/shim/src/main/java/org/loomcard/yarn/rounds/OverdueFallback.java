package org.loomcard.yarn.rounds;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the cluster with the fallback while the round thread waits too long for something else:
 * the policy process, a disk. The round thread says when it begins and ends to wait. In between it
 * does not touch the scheduler's state, so that the state has one user at a time.
 */
public final class OverdueFallback {
  /** The pause between two rounds of the fallback, for other users of YARN's lock. */
  public static final long PAUSE_MS = 50;
  private static final Logger LOG = LoggerFactory.getLogger(OverdueFallback.class);
  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
  private final SchedulerState scheduler;
  private final BridgeCounters counters;
  private final Runnable onServing;
  private final Thread thread = new Thread(this::run, "loomcard-standby");
  private volatile boolean stopped;
  private volatile boolean waiting;
  private volatile long dueNanos;
  private volatile boolean unserved;
  private long unservedNanos;
  private boolean served;
  private int allocated;

  /** @param onServing called when a wait has become too long, before the fallback serves */
  public OverdueFallback(SchedulerState scheduler, BridgeCounters counters, Runnable onServing) {
    this.scheduler = scheduler;
    this.counters = counters;
    this.onServing = onServing;
    thread.setDaemon(true);
  }

  public void start() {
    thread.start();
  }

  public void stop() throws InterruptedException {
    stopped = true;
    LockSupport.unpark(thread);
    thread.join(TimeUnit.SECONDS.toMillis(10));
  }

  /**
   * Notes that the round thread begins to wait; after {@code afterMs} the fallback serves. Waits
   * without a result count together, such as rounds with a mirror that must be rebuilt, or a trial
   * that failed.
   */
  void begin(long afterMs) {
    if (!unserved) {
      unserved = true;
      unservedNanos = System.nanoTime();
    }
    dueNanos = unservedNanos + TimeUnit.MILLISECONDS.toNanos(afterMs);
    waiting = true;
  }

  /**
   * Notes that the cluster was served: the next wait counts from its own beginning. Call it on the
   * round thread.
   */
  public void served() {
    unserved = false;
  }

  /** Whether there was a wait since the cluster was served last. */
  boolean isUnserved() {
    return unserved;
  }

  /**
   * Notes that the wait has ended; returns when the fallback no longer uses the scheduler's state.
   *
   * @return how many containers it allocated meanwhile
   */
  synchronized int end() {
    int result = allocated;
    waiting = false;
    unserved &= !served;
    served = false;
    allocated = 0;
    return result;
  }

  private void run() {
    long nextNanos = System.nanoTime();
    while (!stopped) {
      long now = System.nanoTime();
      if (waiting && now - dueNanos >= 0 && now - nextNanos >= 0) {
        serve();
        nextNanos = System.nanoTime() + (scheduler.isFallbackUnfinished() ? 0
            : TimeUnit.MILLISECONDS.toNanos(PAUSE_MS));
      }
      LockSupport.parkNanos(this, TICK_NANOS);
    }
  }

  private synchronized void serve() {
    if (!waiting || System.nanoTime() - dueNanos < 0) {
      return; // that wait ended, and another one may have begun
    }
    try {
      if (!served) {
        served = true;
        onServing.run();
      }
      int now = scheduler.fallbackRound();
      allocated += now;
      counters.countFallback(now);
    } catch (Throwable e) { // whatever it is, the next try may work
      LOG.error("The fallback failed while the round thread was waiting", e);
    }
  }
}
