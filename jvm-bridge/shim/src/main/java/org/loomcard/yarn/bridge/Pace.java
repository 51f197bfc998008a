package org.loomcard.yarn.bridge;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * When the round thread runs. YARN's threads signal, which costs them an increment; the round
 * thread waits, and at light load holds a batch back for a few milliseconds, since tiny batches
 * cost CPU and no AM sees the difference.
 */
final class Pace {
  /** Records of a batch, or signals, from which on holding back gains nothing. */
  private static final int BUSY = 64;
  private final AtomicInteger signals = new AtomicInteger();
  private final long holdNanos;
  private volatile Thread waiter;

  Pace(long holdMs) {
    this.holdNanos = TimeUnit.MILLISECONDS.toNanos(holdMs);
  }

  /** Something happened. From any thread. */
  void signal() {
    int before = signals.getAndIncrement();
    if (before == 0 || before == BUSY) {
      LockSupport.unpark(waiter);
    }
  }

  /** Forgets the signals so far; what they stood for must be looked at after this. */
  void take() {
    signals.set(0);
  }

  /** Waits for a signal, at most so long. On the round thread. */
  void await(long ms) {
    waiter = Thread.currentThread();
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
    for (long left = end - System.nanoTime(); signals.get() == 0 && left > 0;
        left = end - System.nanoTime()) {
      LockSupport.parkNanos(this, left);
    }
  }

  /** Waits that long, whatever is signalled. On the round thread. */
  void rest(long ms) {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
    for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
      LockSupport.parkNanos(this, left);
    }
  }

  /** Lets a small batch grow; returns at once where the last one was large. On the round thread. */
  void hold(int lastRecords) {
    waiter = Thread.currentThread();
    long end = System.nanoTime() + (lastRecords >= BUSY ? 0 : holdNanos);
    for (long left = end - System.nanoTime(); signals.get() <= BUSY && left > 0;
        left = end - System.nanoTime()) {
      LockSupport.parkNanos(this, left);
    }
  }
}
