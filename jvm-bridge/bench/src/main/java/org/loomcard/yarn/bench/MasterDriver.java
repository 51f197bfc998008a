package org.loomcard.yarn.bench;

import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;

/**
 * All application masters, in one thread, which ask in turns. Saturated: each asks every half
 * second for more than its share of the cluster. Paced and light: so many asks come each second,
 * each for so many containers that a part of the cluster is in use.
 */
final class MasterDriver implements Runnable {
  static final String THREAD = "application-masters";

  private static final double SATURATED_PERIOD_SECONDS = 0.5;
  private static final double NANOS_PER_SECOND = 1e9;
  private static final double LIGHT_ASKS_PER_SECOND = 100;

  /** How much the masters ask for. */
  enum Load {
    SATURATED(2),
    PACED(0.45),
    LIGHT(0.1);

    /** The part of the cluster that is in use; saturated: what all ask for. */
    private final double use;

    Load(double use) {
      this.use = use;
    }
  }

  private final List<SimulatedMaster> masters;
  private final int slots;
  private final Random random = new Random(1);
  private volatile Load load = Load.SATURATED;
  private volatile Exception failure;

  MasterDriver(List<SimulatedMaster> masters, int slots) {
    this.masters = masters;
    this.slots = slots;
  }

  void enter(Load next) {
    load = next;
  }

  /** Throws the exception that stopped the thread, if there was one. */
  void check() {
    if (failure != null) {
      throw new IllegalStateException("an application master failed", failure);
    }
  }

  @Override
  public void run() {
    Load before = Load.SATURATED;
    try {
      while (!Thread.currentThread().isInterrupted()) {
        Load now = load;
        if (now != before) {
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

  /** Lets each master ask once. */
  private void round(Load now) throws Exception {
    double ended = now.use * slots / NodeDriver.LIFE_SECONDS;
    double asks = now == Load.SATURATED ? masters.size() / SATURATED_PERIOD_SECONDS
        : now == Load.PACED ? masters.size() : LIGHT_ASKS_PER_SECOND;
    int mean = (int) Math.max(1, ended / asks);
    double pause = NANOS_PER_SECOND / Math.min(asks, Math.max(1, ended));
    long start = System.nanoTime();
    for (int i = 0; i < masters.size() && now == load; i++) {
      waitUntil(start + (long) (i * pause));
      if (now == Load.SATURATED) {
        masters.get(i).askInAll((int) (now.use * slots / masters.size()));
      } else {
        masters.get(i).askMore(1 + random.nextInt(2 * mean - 1));
      }
    }
    waitUntil(start + (long) (masters.size() * pause));
  }

  private static void waitUntil(long due) {
    long now = System.nanoTime();
    while (now < due && !Thread.currentThread().isInterrupted()) {
      LockSupport.parkNanos(due - now);
      now = System.nanoTime();
    }
  }
}
