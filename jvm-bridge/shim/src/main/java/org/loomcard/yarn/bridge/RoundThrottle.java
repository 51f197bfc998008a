package org.loomcard.yarn.bridge;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Decides when the round thread runs. YARN's threads signal, which costs them an increment. The
 * round thread waits; at light load it also delays a small batch, since tiny batches cost CPU. The
 * delay counts from the previous batch with a new ask, so that an ask after a quiet time is sent at
 * once. A batch for which no new ask waits may be delayed longer: it changes nothing, or gives room
 * to an ask that has waited anyway.
 */
final class RoundThrottle {
  /** From this many records of a batch, or signals, delaying gains nothing. */
  private static final int BUSY = 64;
  private final AtomicInteger signals = new AtomicInteger();
  /** How many times longer a batch may be delayed while no new ask waits. */
  private static final int IDLE_DELAYS = 8;
  private final long delayNanos;
  private final long idleDelayNanos;
  private long sentNanos = System.nanoTime();
  /** When the last batch was sent for which an ask waited. */
  private long servedNanos = sentNanos;
  private volatile Thread waiter;
  /** At this count of signals the round thread wakes. */
  private volatile int wakesAt = 1;
  /** Whether it wakes at each ask. */
  private volatile boolean wakesForDemand = true;

  RoundThrottle(long delayMs) {
    this(delayMs, IDLE_DELAYS * delayMs);
  }

  /**
   * @param delayMs how long a small batch is delayed while a new ask waits
   * @param idleDelayMs how long it is delayed while no new ask waits
   */
  RoundThrottle(long delayMs, long idleDelayMs) {
    this.delayNanos = TimeUnit.MILLISECONDS.toNanos(delayMs);
    this.idleDelayNanos = TimeUnit.MILLISECONDS.toNanos(idleDelayMs);
  }

  /** Signals that something happened. Any thread may call it. */
  void signal() {
    if (signals.incrementAndGet() == wakesAt) {
      LockSupport.unpark(waiter);
    }
  }

  /** Signals an ask: a batch with a longer delay is looked at again. */
  void signalDemand() {
    if (signals.incrementAndGet() == wakesAt || wakesForDemand) {
      LockSupport.unpark(waiter);
    }
  }

  /** Forgets the signals so far; the caller must look at their causes after this. */
  void take() {
    signals.set(0);
  }

  /** Waits for a signal, at most {@code ms}. On the round thread. */
  void await(long ms) {
    waiter = Thread.currentThread();
    wakesAt = 1;
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
    for (long left = end - System.nanoTime(); signals.get() == 0 && left > 0;
        left = end - System.nanoTime()) {
      LockSupport.parkNanos(this, left);
    }
  }

  /** Waits {@code ms}, even if something is signalled. On the round thread. */
  void rest(long ms) {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
    for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
      LockSupport.parkNanos(this, left);
    }
  }

  /**
   * Lets a small batch grow, and counts it as sent; returns at once if the last one was large. On
   * the round thread.
   *
   * @param demand whether a new ask waits; read again at each signal of demand
   */
  void delay(int lastRecords, BooleanSupplier demand) {
    waiter = Thread.currentThread();
    wakesAt = BUSY + 1;
    boolean asked = demand.getAsBoolean();
    while (lastRecords < BUSY && signals.get() <= BUSY) {
      long end = asked ? servedNanos + delayNanos : sentNanos + idleDelayNanos;
      long left = end - System.nanoTime();
      if (left <= 0) {
        break;
      }
      wakesForDemand = !asked;
      LockSupport.parkNanos(this, left);
      wakesForDemand = true; // before it looks, so that no ask is missed
      asked = demand.getAsBoolean();
    }
    sentNanos = System.nanoTime();
    if (asked) {
      servedNanos = sentNanos;
    }
  }
}
