package org.loomcard.yarn.rounds;

/** The last exception that the policy of one queue raised, for pages. */
public final class PolicyFault {
  /** How many characters of a text are shown: pages are not made for more. */
  private static final int SHOWN = 8000;
  /** The queue's path. */
  public final String queue;
  /** When it was raised, on the engine's clock. */
  public final long atMs;
  /** What was raised. */
  public final String message;
  /** Where it was raised, and for how long another policy serves the queue. */
  public final String traceback;

  PolicyFault(String queue, long atMs, String message, String traceback) {
    this.queue = queue;
    this.atMs = atMs;
    this.message = shown(message);
    this.traceback = shown(traceback);
  }

  private static String shown(String text) {
    return text.length() <= SHOWN ? text : text.substring(0, SHOWN) + "...";
  }
}
