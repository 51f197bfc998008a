package org.loomcard.yarn.wire;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** Milliseconds since the engine's zero, the start of the ResourceManager; never runs backwards. */
public final class EngineClock {
  private static final AtomicLong LAST_ZERO = new AtomicLong();
  private final long epochMs;
  private final long offsetNanos;
  private final LongSupplier nanoTime;

  /** @param epochMs the ResourceManager's cluster timestamp, in wall-clock milliseconds */
  public EngineClock(long epochMs) {
    this(epochMs, System::nanoTime);
  }

  /** @param nanoTime what counts the nanoseconds */
  public EngineClock(long epochMs, LongSupplier nanoTime) {
    this.epochMs = epochMs;
    this.nanoTime = nanoTime;
    this.offsetNanos =
        (System.currentTimeMillis() - epochMs) * 1_000_000L - nanoTime.getAsLong();
  }

  /**
   * The clock of one life of a scheduler, with a zero that no other life in this JVM has: the
   * cluster timestamp, which a ResourceManager keeps when it becomes active again, or else now. The
   * zero names the journal's files and the policy's numbers.
   */
  public static EngineClock forScheduler(long clusterTimestampMs) {
    return new EngineClock(LAST_ZERO.updateAndGet(last -> last < clusterTimestampMs
        ? clusterTimestampMs : Math.max(last + 1, System.currentTimeMillis())));
  }

  public long nowMs() {
    return (nanoTime.getAsLong() + offsetNanos) / 1_000_000L;
  }

  /**
   * A wall-clock time, such as an application's submission, on this clock. May be negative after a
   * restart.
   */
  public long fromWallMs(long wallMs) {
    return wallMs - epochMs;
  }

  public long epochMs() {
    return epochMs;
  }
}
