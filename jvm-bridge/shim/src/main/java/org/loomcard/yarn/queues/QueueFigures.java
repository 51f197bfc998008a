package org.loomcard.yarn.queues;

import org.apache.hadoop.yarn.api.records.QueueStatistics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;

/** A queue's metrics as the record that clients get. */
final class QueueFigures {
  private QueueFigures() {
  }

  static QueueStatistics of(QueueMetrics metrics) {
    QueueStatistics figures = QueueStatistics.newInstance(metrics.getAppsSubmitted(),
        metrics.getAppsRunning(),
        metrics.getAppsPending(), metrics.getAppsCompleted(), metrics.getAppsKilled(),
        metrics.getAppsFailed(),
        metrics.getActiveUsers(), metrics.getAvailableMB(), metrics.getAllocatedMB(),
        metrics.getPendingMB(),
        metrics.getReservedMB(), metrics.getAvailableVirtualCores(),
        metrics.getAllocatedVirtualCores(),
        metrics.getPendingVirtualCores(), metrics.getReservedVirtualCores());
    figures.setAllocatedContainers(metrics.getAllocatedContainers());
    figures.setPendingContainers(metrics.getPendingContainers());
    return figures;
  }
}
