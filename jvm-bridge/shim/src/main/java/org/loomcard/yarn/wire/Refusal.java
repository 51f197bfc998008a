package org.loomcard.yarn.wire;

/** Of the decision at {@code index} of a plan, {@code count} containers were refused. */
public final class Refusal {
  public final int index;
  public final int count;
  /** A reason code of docs/reference/wire.md. */
  public final String reason;

  public Refusal(int index, int count, String reason) {
    this.index = index;
    this.count = count;
    this.reason = reason;
  }
}
