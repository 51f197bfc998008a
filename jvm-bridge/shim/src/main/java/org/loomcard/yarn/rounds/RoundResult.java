package org.loomcard.yarn.rounds;

/** The result of a round. */
public final class RoundResult {
  /** What was wrong with the round as a whole: late, or the mirror was lost; null: nothing. */
  public final String bad;
  /** What one of the policies raised, while the rest of the plan is valid; null: nothing. */
  public final String fault;

  RoundResult(String bad, String fault) {
    this.bad = bad;
    this.fault = fault;
  }
}
