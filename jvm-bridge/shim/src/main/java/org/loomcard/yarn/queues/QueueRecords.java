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
    info.setCapacity((float) capacity(queue));
    info.setMaximumCapacity(parent == null ? 1f
        : Amounts.dominantShare(maximum, parent.maximum()));
    double part = partOfRoot(queue);
    info.setCurrentCapacity(part > 0
        ? (float) (Amounts.dominantShare(queue.used(), root(queue).maximum()) / part)
        : Amounts.dominantShare(queue.used(), Amounts.isZero(share) ? maximum : share));
    YarnRecords.setPath(info, queue.path(), queue.mostRunning());
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

  /** Returns its part of the parent, exactly where that is stated as a part or a weight. */
  static double capacity(LoomcardQueue queue) {
    LoomcardQueue parent = queue.parent();
    if (parent == null) {
      return 1;
    }
    double weights = parent.childWeights();
    if (weights > 0) {
      return queue.spec().weight / weights;
    }
    return queue.spec().guaranteed.isShare()
        ? (double) queue.spec().guaranteed.ppm / LoomcardQueue.WHOLE
        : Amounts.dominantShare(share(queue), share(parent));
  }

  /** Returns its part of the cluster; 0 where it or a queue above it states amounts, or nothing. */
  private static double partOfRoot(LoomcardQueue queue) {
    if (queue.parent() == null) {
      return 1;
    }
    boolean isPart = queue.spec().guaranteed.isShare() || queue.parent().childWeights() > 0;
    return isPart ? capacity(queue) * partOfRoot(queue.parent()) : 0;
  }

  private static LoomcardQueue root(LoomcardQueue queue) {
    return queue.parent() == null ? queue : root(queue.parent());
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
    return parent.childWeights() == 0 ? queue.guaranteed() : Amounts.share(share(parent),
        (int) Math.round(LoomcardQueue.WHOLE * capacity(queue)));
  }
}
