package org.loomcard.yarn.bridge;

/**
 * The fields of the record {@code container_added}: a container that no plan of this process
 * placed.
 */
public final class ContainerText {
  public final long container;
  public final int attempt;
  /** {@code ContainerId.getContainerId()}. */
  public final long number;
  public final int node;
  public final long[] size;
  public final int priority;
  public final long allocationRequestId;
  public final boolean isAm;
  /** {@code allocated} or {@code running}. */
  public final String state;
  /** {@code policy}, {@code recovered} or {@code fallback}. */
  public final String origin;

  /** All fields in the order of the wire. */
  public ContainerText(long container, int attempt, long number, int node, long[] size,
      int priority,
      long allocationRequestId, boolean isAm, String state, String origin) {
    this.container = container;
    this.attempt = attempt;
    this.number = number;
    this.node = node;
    this.size = size;
    this.priority = priority;
    this.allocationRequestId = allocationRequestId;
    this.isAm = isAm;
    this.state = state;
    this.origin = origin;
  }
}
