package org.loomcard.yarn.wire;

/**
 * The fields of the record {@code container_added}: a container that no plan of this process
 * placed.
 */
public final class ContainerRecord {
  public final long container;
  public final int attempt;
  /** {@code ContainerId.getContainerId()}. */
  public final long number;
  public final int node;
  public final long[] size;
  public final int priority;
  public final long allocationRequestId;
  public final boolean isAm;
  /** {@code policy}, {@code recovered} or {@code fallback}. */
  public final String origin;
  public final long allocatedMs;
  /** When it was first reported RUNNING; null when it was not. */
  public final Long startedMs;
  /** When its preemption was announced to its AM; null when it was not. */
  public final Long preemptingSince;
  /** The node label that its ask named; empty when it named none. */
  public final String label;

  public ContainerRecord(long container, int attempt, long number, int node, long[] size,
      int priority, long allocationRequestId, boolean isAm, String origin, Times times,
      String label) {
    this.container = container;
    this.attempt = attempt;
    this.number = number;
    this.node = node;
    this.size = size;
    this.priority = priority;
    this.allocationRequestId = allocationRequestId;
    this.isAm = isAm;
    this.origin = origin;
    this.allocatedMs = times.allocatedMs;
    this.startedMs = times.startedMs;
    this.preemptingSince = times.preemptingSince;
    this.label = label;
  }

  /** {@code allocated} or {@code running}. */
  String state() {
    return startedMs == null ? "allocated" : "running";
  }

  /** The times of a container, in ms since the engine's zero. */
  public static final class Times {
    final long allocatedMs;
    final Long startedMs;
    final Long preemptingSince;

    /** @param startedMs, preemptingSince null where that has not happened */
    public Times(long allocatedMs, Long startedMs, Long preemptingSince) {
      this.allocatedMs = allocatedMs;
      this.startedMs = startedMs;
      this.preemptingSince = preemptingSince;
    }
  }
}
