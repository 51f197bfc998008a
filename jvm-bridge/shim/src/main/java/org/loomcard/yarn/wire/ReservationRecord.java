package org.loomcard.yarn.wire;

/** One reservation as the record {@code reservations} lists it. */
public final class ReservationRecord {
  final int attempt;
  final int priority;
  final long allocationRequestId;
  final int node;
  final Long untilMs;
  final long sinceMs;
  final long placedMs;

  /**
   * Sets all fields in the order of the wire.
   *
   * @param untilMs null: for as long as the ask waits
   */
  public ReservationRecord(int attempt, int priority, long allocationRequestId, int node,
      Long untilMs, long sinceMs, long placedMs) {
    this.attempt = attempt;
    this.priority = priority;
    this.allocationRequestId = allocationRequestId;
    this.node = node;
    this.untilMs = untilMs;
    this.sinceMs = sinceMs;
    this.placedMs = placedMs;
  }
}
