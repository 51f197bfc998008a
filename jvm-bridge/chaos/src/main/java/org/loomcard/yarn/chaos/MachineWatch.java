package org.loomcard.yarn.chaos;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The control thread: it sleeps a little and works a little, always the same, and notes when that
 * took longer than it should. Such a pause comes from the machine (other programs on its cores, a
 * collection of garbage), not from the scheduler, because the thread takes no lock.
 */
final class MachineWatch implements Runnable {
  private static final long SLEEP = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long WORK = TimeUnit.MICROSECONDS.toNanos(500);
  /** Shorter pauses are normal: an operating system's scheduler makes them all the time. */
  private static final long WORTH_NOTING = TimeUnit.MILLISECONDS.toNanos(30);
  private static final int MOST = 100_000;

  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private final List<long[]> pauses = new ArrayList<>();

  static MachineWatch start() {
    MachineWatch watch = new MachineWatch();
    Thread thread = new Thread(watch, "chaos-machine-watch");
    thread.setDaemon(true);
    thread.setPriority(Thread.NORM_PRIORITY);
    thread.start();
    return watch;
  }

  @Override
  public void run() {
    try {
      while (true) {
        watchOnce();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void watchOnce() throws InterruptedException {
    long begin = System.currentTimeMillis();
    long pause = pauseOfOneSleep();
    if (pause > 0) {
      note(new long[] {begin, TimeUnit.NANOSECONDS.toMillis(pause)});
    }
  }

  /**
   * Returns after {@code millis} of time in which the machine did not pause this thread, or after
   * {@code most}: a stall made on purpose must not count as one of the machine.
   */
  static void sleepUnpaused(long millis, long most) throws InterruptedException {
    MachineWatch watch = new MachineWatch();
    long start = System.nanoTime();
    long paused = 0;
    long passed = 0;
    while (passed - paused < TimeUnit.MILLISECONDS.toNanos(millis)
        && passed < TimeUnit.MILLISECONDS.toNanos(most)) {
      paused += watch.pauseOfOneSleep();
      passed = System.nanoTime() - start;
    }
  }

  /** Returns by how many nanoseconds a short sleep and a little work took too long; 0 if hardly. */
  private long pauseOfOneSleep() throws InterruptedException {
    long start = System.nanoTime();
    TimeUnit.NANOSECONDS.sleep(SLEEP);
    long enough = threads.getCurrentThreadCpuTime() + WORK;
    while (threads.getCurrentThreadCpuTime() < enough) {
      Thread.yield();
    }
    long more = System.nanoTime() - start - SLEEP - WORK;
    return more > WORTH_NOTING ? more : 0;
  }

  private synchronized void note(long[] pause) {
    if (pauses.size() < MOST) {
      pauses.add(pause);
    }
  }

  /** The pauses since the last call: when each began (milliseconds since 1970), and its length. */
  synchronized List<long[]> drain() {
    List<long[]> drained = new ArrayList<>(pauses);
    pauses.clear();
    return drained;
  }
}
