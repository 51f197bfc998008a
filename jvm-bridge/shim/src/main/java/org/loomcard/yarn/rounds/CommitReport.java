package org.loomcard.yarn.rounds;

/**
 * What became of one plan, in numbers; the outcomes themselves go to the policy with the next
 * batch.
 */
public final class CommitReport {
  /** Containers granted. */
  public final int granted;
  /** Containers marked for preemption. */
  public final int preempted;
  /** Containers and preemptions refused, for whatever reason. */
  public final int refused;

  public CommitReport(int granted, int preempted, int refused) {
    this.granted = granted;
    this.preempted = preempted;
    this.refused = refused;
  }

  @Override
  public String toString() {
    return "granted " + granted + ", preempted " + preempted + ", refused " + refused;
  }
}
