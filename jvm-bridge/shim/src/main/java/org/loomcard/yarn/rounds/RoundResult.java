package org.loomcard.yarn.rounds;

/** How a round went. */
public final class RoundResult {
  /** What was wrong with it as a whole: late, or the mirror was lost; null: nothing. */
  public final String bad;
  /** What one of the policies raised, while the rest of the plan stands; null: nothing. */
  public final String fault;

  RoundResult(String bad, String fault) {
    this.bad = bad;
    this.fault = fault;
  }
}
