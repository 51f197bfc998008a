package org.loomcard.yarn.state;

import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.loomcard.yarn.hadoop.YarnRecords;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.wire.ContainerRecord;

/**
 * A container as the policy knows it, from its allocation until its room on the node is free again.
 */
public final class ContainerEntry {
  final long number;
  final LoomcardApplication application;
  final LoomcardNode node;
  final boolean isAm;
  final String origin;
  private final RMContainer container;
  /** On the engine's clock. */
  private final long allocatedMs;
  private final RunTimes times = new RunTimes();
  /** The size that the node counts for it, with changes of size that its AM has not fetched. */
  private long[] size;
  private Long preemptingSince;
  private String endKind;
  private int exitStatus;

  ContainerEntry(long number, LoomcardAttempt attempt, LoomcardNode node, RMContainer container,
      boolean isAm, String origin, long allocatedMs) {
    this.number = number;
    this.application = attempt.application();
    this.node = node;
    this.container = container;
    this.isAm = isAm;
    this.origin = origin;
    this.allocatedMs = allocatedMs;
    this.size = Amounts.of(container.getContainer().getResource());
  }

  /** The number, as YARN counts, of the attempt that it was allocated to. */
  int ordinal() {
    return container.getContainerId().getApplicationAttemptId().getAttemptId();
  }

  /** Whether it was allocated to an attempt before the latest. */
  boolean isPast() {
    LoomcardAttempt latest = application.attempt();
    return latest != null && latest.getApplicationAttemptId().getAttemptId() != ordinal();
  }

  RunTimes times() {
    return times;
  }

  /** The size that the node counts for it. */
  synchronized long[] size() {
    return size;
  }

  /**
   * Adds {@code more} to its size, or takes room away when that is negative; returns the new size.
   */
  synchronized long[] grow(long[] more) {
    long[] next = size.clone();
    Amounts.add(next, more);
    size = next;
    return next;
  }

  /** Notes that its preemption is announced to its AM; only the first time counts. */
  public synchronized void announcePreemption(long nowMs) {
    if (preemptingSince == null) {
      preemptingSince = nowMs;
    }
  }

  public RMContainer container() {
    return container;
  }

  public LoomcardNode node() {
    return node;
  }

  public boolean isAm() {
    return isAm;
  }

  /** Whether YARN has ended it, while its room on the node is not free yet. */
  public synchronized boolean isEnding() {
    return endKind != null;
  }

  /** Notes its end; only the first end counts. */
  synchronized void end(String kind, int status) {
    if (endKind == null) {
      endKind = kind;
      exitStatus = status;
    }
  }

  synchronized String endKind() {
    return endKind == null ? "completed" : endKind;
  }

  synchronized int exitStatus() {
    return exitStatus;
  }

  boolean isRunning() {
    return container.getState() == RMContainerState.RUNNING;
  }

  /** Returns it as a record. */
  ContainerRecord text() {
    Container allocated = container.getContainer();
    ContainerId id = container.getContainerId();
    Long preempting;
    synchronized (this) {
      preempting = preemptingSince;
    }
    return new ContainerRecord(number, application.attemptNumber(ordinal()), id.getContainerId(),
        node.number(), size(), allocated.getPriority().getPriority(),
        YarnRecords.allocationRequestId(allocated), isAm, origin, new ContainerRecord.Times(
            allocatedMs, times.startedMs(), preempting), label());
  }

  /** The label that its ask named; that of its node where YARN has forgotten it. */
  private String label() {
    return "recovered".equals(origin) ? node.getPartition()
        : YarnRecords.label(container, node.getPartition());
  }
}
