package org.loomcard.yarn.state;

import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/** What the wire calls an ask of an attempt; a value. */
public final class AskKey {
  private final int priority;
  private final long allocationRequestId;

  public AskKey(int priority, long allocationRequestId) {
    this.priority = priority;
    this.allocationRequestId = allocationRequestId;
  }

  public static AskKey of(SchedulerRequestKey key) {
    return new AskKey(key.getPriority().getPriority(), key.getAllocationRequestId());
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof AskKey && ((AskKey) other).priority == priority
        && ((AskKey) other).allocationRequestId == allocationRequestId;
  }

  @Override
  public int hashCode() {
    return 31 * priority + Long.hashCode(allocationRequestId);
  }
}
