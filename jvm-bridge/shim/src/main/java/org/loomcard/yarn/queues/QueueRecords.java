package org.loomcard.yarn.queues;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.util.Records;
import org.loomcard.yarn.hadoop.YarnRecords;

/** YARN's records of a queue, as clients get them. */
final class QueueRecords {
  private QueueRecords() {
  }

  /**
   * Returns what clients are shown of a queue.
   *
   * @param children whether the queues directly below it are shown too
   * @param recursive whether those further below are
   */
  static QueueInfo info(LoomcardQueue queue, boolean children, boolean recursive) {
    QueueInfo info = Records.newRecord(QueueInfo.class);
    LoomcardQueue parent = queue.parent();
    long[] share = share(queue);
    long[] maximum = queue.maximum();
    info.setQueueName(queue.path());
    info.setCapacity(parent == null ? 1f : Amounts.dominantShare(share, share(parent)));
    info.setMaximumCapacity(parent == null ? 1f
        : Amounts.dominantShare(maximum, parent.maximum()));
    info.setCurrentCapacity(Amounts.dominantShare(queue.used(),
        Amounts.isZero(share) ? maximum : share));
    info.setQueueState(queue.state());
    info.setAccessibleNodeLabels(queue.getAccessibleNodeLabels());
    info.setDefaultNodeLabelExpression(queue.getDefaultNodeLabelExpression());
    YarnRecords.setStatistics(info, queue.getMetrics());
    List<QueueInfo> infos = new ArrayList<>();
    if (children) {
      for (LoomcardQueue child : queue.children()) {
        infos.add(info(child, recursive, recursive));
      }
    }
    info.setChildQueues(infos);
    return info;
  }

  /**
   * Returns what a queue is guaranteed; where no queue of its level states a guarantee, its part of
   * the parent's by weight, as CapacityScheduler's weights.
   */
  private static long[] share(LoomcardQueue queue) {
    LoomcardQueue parent = queue.parent();
    if (parent == null) {
      return queue.guaranteed();
    }
    double weights = 0;
    for (LoomcardQueue each : parent.children()) {
      if (!each.spec().guaranteed.isShare() || each.spec().guaranteed.ppm > 0) {
        return queue.guaranteed();
      }
      weights += each.spec().weight;
    }
    return Amounts.share(share(parent), (int) Math.round(
        LoomcardQueue.WHOLE * queue.spec().weight / weights));
  }
}
