package org.loomcard.yarn.state;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationResourceUsageReport;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ActiveUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.hadoop.LabelMetrics;
import org.loomcard.yarn.hadoop.MovableAttempt;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.LoomcardQueue;

/**
 * Room reserved on a node for one container of an ask. No other ask gets what is free there or
 * becomes free, up to the size of this container.
 */
public final class Reservation {
  public final LoomcardAttempt attempt;
  public final LoomcardNode node;
  /** When room was first reserved for the ask; the reservation may have moved since. */
  public final long sinceMs;
  final SchedulerRequestKey key;
  final long placedMs;
  /** Null: for as long as the ask waits. */
  final Long untilMs;
  private final long[] size;
  private final String label;
  /** The queue whose metrics count it; null when no queue's metrics do. */
  private LoomcardQueue countedIn;

  Reservation(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node, long[] size,
      Long untilMs, long sinceMs, long placedMs) {
    this.attempt = attempt;
    this.key = key;
    this.node = node;
    this.size = size;
    this.label = node.getPartition();
    this.untilMs = untilMs;
    this.sinceMs = sinceMs;
    this.placedMs = placedMs;
  }

  public int priority() {
    return key.getPriority().getPriority();
  }

  public long allocationRequestId() {
    return key.getAllocationRequestId();
  }

  /** The amounts reserved. */
  public long[] size() {
    return size.clone();
  }

  /**
   * Makes the metrics of this queue (null: of no queue) and the attempt's report count it from now
   * on.
   */
  void countIn(LoomcardQueue queue) {
    Resource amounts = Amounts.toResource(size);
    Reserver holder = attempt;
    if (countedIn != null) {
      LabelMetrics.unreserve(countedIn.getMetrics(), label, attempt.getUser(), amounts);
      holder.countReserved(label, amounts, false);
    }
    countedIn = queue;
    if (queue != null) {
      LabelMetrics.reserve(queue.getMetrics(), label, attempt.getUser(), amounts);
      holder.countReserved(label, amounts, true);
    }
  }

  /**
   * Whether room is reserved for this ask. A change of a container's size is not part of any ask.
   */
  boolean isFor(LoomcardAttempt other, SchedulerRequestKey otherKey) {
    return other == attempt && otherKey.getContainerToUpdate() == null
        && otherKey.getAllocationRequestId() == allocationRequestId()
        && otherKey.getPriority().getPriority() == priority();
  }

  /** Whether {@code more} fits into the part of {@code free} that is not reserved. */
  boolean leaves(long[] free, long[] more) {
    for (int i = 0; i < more.length; i++) {
      if (more[i] > Math.max(Math.min(free[i], 0), free[i] - size[i])) {
        return false;
      }
    }
    return true;
  }

  /** Whether its time has ended, its ask is gone or has changed, or the node could not run it. */
  boolean isOver(long nowMs) {
    if (untilMs != null && untilMs <= nowMs || attempt.isStopped()
        || !node.getPartition().equals(label)
        || !Amounts.fits(new long[size.length], size, Amounts.of(node.getTotalResource()))) {
      return true;
    }
    Map<String, ResourceRequest> rows = HadoopCalls.rows(attempt, key);
    ResourceRequest any = rows.get(ResourceRequest.ANY);
    if (any == null || any.getNumContainers() <= 0) {
      return true;
    }
    String asked = any.getNodeLabelExpression();
    return !Arrays.equals(Amounts.of(any.getCapability()), size)
        || !label.equals(asked == null ? "" : asked);
  }

  /** An attempt for which room may be reserved; YARN's reports call that reserved. */
  abstract static class Reserver extends MovableAttempt {
    private final AtomicInteger reservations = new AtomicInteger();

    Reserver(ApplicationAttemptId id, String user, Queue queue, ActiveUsersManager users,
        RMContext context) {
      super(id, user, queue, users, context);
    }

    private void countReserved(String label, Resource amounts, boolean more) {
      reservations.addAndGet(more ? 1 : -1);
      if (more) {
        attemptResourceUsage.incReserved(label, amounts);
      } else {
        attemptResourceUsage.decReserved(label, amounts);
      }
    }

    @Override
    public final ApplicationResourceUsageReport getResourceUsageReport() {
      ApplicationResourceUsageReport report = super.getResourceUsageReport();
      report.setNumReservedContainers(reservations.get());
      return report;
    }
  }
}
