package org.loomcard.yarn.rounds;

/** How a round went, for whoever has to act on it. */
public final class RoundEnd {
  /** What was wrong with it as a whole: late, or the mirror was lost; null: nothing. */
  public final String bad;
  /** What one of the policies raised, while the rest of the plan stands; null: nothing. */
  public final String fault;

  RoundEnd(String bad, String fault) {
    this.bad = bad;
    this.fault = fault;
  }
}
