package org.apache.hadoop.yarn.server.scheduler;

import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.ResourceRequest;

/**
 * What tells the asks of an attempt apart. Hadoop 2.7 lacks this class: there it is their priority
 * alone.
 */
public final class SchedulerRequestKey implements Comparable<SchedulerRequestKey> {
  private final Priority priority;

  public SchedulerRequestKey(Priority priority) {
    this.priority = priority;
  }

  public static SchedulerRequestKey create(ResourceRequest request) {
    return new SchedulerRequestKey(request.getPriority());
  }

  public Priority getPriority() {
    return priority;
  }

  /** Always 0. */
  public long getAllocationRequestId() {
    return 0;
  }

  /** Always null: no ask is a change of a container. */
  public ContainerId getContainerToUpdate() {
    return null;
  }

  @Override
  public int compareTo(SchedulerRequestKey other) {
    return Integer.compare(priority.getPriority(), other.priority.getPriority());
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SchedulerRequestKey
        && priority.getPriority() == ((SchedulerRequestKey) other).priority.getPriority();
  }

  @Override
  public int hashCode() {
    return priority.getPriority();
  }

  @Override
  public String toString() {
    return "{Priority=" + priority + "}";
  }
}
