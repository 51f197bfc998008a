package org.loomcard.yarn.rounds;

/**
 * The outcome of one plan, in numbers; the single outcomes go to the policy with the next batch.
 */
public final class CommitReport {
  /** Containers allocated. */
  public final int allocated;
  /** Containers marked for preemption. */
  public final int preempted;
  /** Containers and preemptions refused, for any reason. */
  public final int refused;

  public CommitReport(int allocated, int preempted, int refused) {
    this.allocated = allocated;
    this.preempted = preempted;
    this.refused = refused;
  }

  @Override
  public String toString() {
    return "allocated " + allocated + ", preempted " + preempted + ", refused " + refused;
  }
}
