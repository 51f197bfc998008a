package org.loomcard.yarn.bridge;

/** Milliseconds since the engine's zero, the start of the ResourceManager; never runs backwards. */
public final class EngineClock {
  private final long epochMs;
  private final long offsetNanos;

  /** @param epochMs the ResourceManager's cluster timestamp, in wall-clock milliseconds */
  public EngineClock(long epochMs) {
    this.epochMs = epochMs;
    this.offsetNanos = (System.currentTimeMillis() - epochMs) * 1_000_000L - System.nanoTime();
  }

  public long nowMs() {
    return (System.nanoTime() + offsetNanos) / 1_000_000L;
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
