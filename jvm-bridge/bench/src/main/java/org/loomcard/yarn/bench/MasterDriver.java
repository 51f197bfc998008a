package org.loomcard.yarn.bench;

import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * All application masters, in one thread. Saturated: each asks every half second for more than its
 * share of the cluster. Paced: each asks once per second for so many containers that a little less
 * than half of the cluster is in use, ten on average with 200 masters and 40,000 slots.
 */
final class MasterDriver implements Runnable {
  static final String THREAD = "application-masters";

  private static final double PACED_USE = 0.45;
  private static final long SATURATED_PERIOD = TimeUnit.MILLISECONDS.toNanos(500);
  private static final long PACED_PERIOD = TimeUnit.SECONDS.toNanos(1);

  private final List<SimulatedMaster> masters;
  private final int saturatedAsk;
  private final int meanPacedAsk;
  private final Random random = new Random(1);
  private volatile boolean paced;
  private volatile Exception failure;

  MasterDriver(List<SimulatedMaster> masters, int slots) {
    this.masters = masters;
    saturatedAsk = 2 * slots / masters.size();
    meanPacedAsk = Math.max(1,
        (int) (PACED_USE * slots / NodeDriver.LIFE_SECONDS / masters.size()));
  }

  void throttle() {
    paced = true;
  }

  /** Throws the exception that stopped the thread, if there was one. */
  void check() {
    if (failure != null) {
      throw new IllegalStateException("an application master failed", failure);
    }
  }

  @Override
  public void run() {
    boolean before = false;
    try {
      while (!Thread.currentThread().isInterrupted()) {
        boolean now = paced;
        if (now && !before) {
          for (SimulatedMaster master : masters) {
            master.askInAll(0);
          }
        }
        round(now);
        before = now;
      }
    } catch (Exception e) {
      failure = e;
    }
  }

  private void round(boolean slow) throws Exception {
    long period = slow ? PACED_PERIOD : SATURATED_PERIOD;
    long start = System.nanoTime();
    for (int i = 0; i < masters.size() && slow == paced; i++) {
      waitUntil(start + i * period / masters.size());
      if (slow) {
        masters.get(i).askMore(1 + random.nextInt(2 * meanPacedAsk - 1));
      } else {
        masters.get(i).askInAll(saturatedAsk);
      }
    }
    waitUntil(start + period);
  }

  private static void waitUntil(long due) {
    long now = System.nanoTime();
    while (now < due && !Thread.currentThread().isInterrupted()) {
      LockSupport.parkNanos(due - now);
      now = System.nanoTime();
    }
  }
}
