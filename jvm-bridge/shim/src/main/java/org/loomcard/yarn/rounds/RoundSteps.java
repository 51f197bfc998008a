package org.loomcard.yarn.rounds;

/**
 * When the present round reached each of its steps, in nanoseconds of {@link System#nanoTime}. Only
 * the round thread uses it; that thread also carries out the plan, so what a commit calls may read
 * it.
 */
public final class RoundSteps {
  /** It ended to wait for something to happen. */
  public long woken;
  /** The batch was not held back any longer. */
  public long begun;
  /** The batch's text was complete. */
  public long sent;
  public long replied;
  /** The plan was read, and its commit began. */
  public long read;

  RoundSteps() {
  }
}
