package org.loomcard.yarn.rounds;

/** A queue whose policy allocated nothing although it could. Immutable. */
public final class QueueStall {
  /** The path of the leaf queue. */
  public final String queue;
  /** When it was found, on the engine's clock. */
  public final long atMs;
  /** Until when the fallback serves the queue; then the policy is tried again. */
  public final long untilMs;
  /** How often this was found since the policy last worked there. */
  public final int times;
  /** The ask that waited, and for how long. */
  public final String message;

  public QueueStall(String queue, long atMs, long untilMs, int times, String message) {
    this.queue = queue;
    this.atMs = atMs;
    this.untilMs = untilMs;
    this.times = times;
    this.message = message;
  }
}
