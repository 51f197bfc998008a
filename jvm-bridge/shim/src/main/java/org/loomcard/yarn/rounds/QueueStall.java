package org.loomcard.yarn.rounds;

/** A queue to which the policy gave nothing although it could. Immutable. */
public final class QueueStall {
  /** The path of the leaf queue. */
  public final String queue;
  /** When it was found, on the engine's clock. */
  public final long atMs;
  /** Until when the fallback serves the queue; the policy is tried again then. */
  public final long untilMs;
  /** How often it was found since the policy last worked there. */
  public final int times;
  /** The ask that waited, and for how long. */
  public final String message;

  /** All fields. */
  public QueueStall(String queue, long atMs, long untilMs, int times, String message) {
    this.queue = queue;
    this.atMs = atMs;
    this.untilMs = untilMs;
    this.times = times;
    this.message = message;
  }
}
