package org.loomcard.yarn.status;

import java.util.Map;

/** Room that is reserved on a node for an ask. */
public final class ReservationStatus {
  public final String application;
  public final String queue;
  public final String node;
  public final int priority;
  public final long allocationRequestId;
  public final Map<String, Long> resource;
  /** When room was first reserved for the ask, in milliseconds since 1970. */
  public final long sinceMs;

  public ReservationStatus(String application, String queue, String node, int priority,
      long allocationRequestId, Map<String, Long> resource, long sinceMs) {
    this.application = application;
    this.queue = queue;
    this.node = node;
    this.priority = priority;
    this.allocationRequestId = allocationRequestId;
    this.resource = resource;
    this.sinceMs = sinceMs;
  }
}
