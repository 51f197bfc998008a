package org.loomcard.yarn.hadoop;

import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;

/** Changes what a queue's metrics count. Hadoop 2.7 counts all nodes together. */
public final class LabelMetrics {
  private LabelMetrics() {
  }

  public static void allocate(QueueMetrics metrics, String label, String user, Resource size) {
    metrics.allocateResources(user, 1, size, false);
  }

  public static void release(QueueMetrics metrics, String label, String user, Resource size) {
    metrics.releaseResources(user, 1, size);
  }

  public static void reserve(QueueMetrics metrics, String label, String user, Resource size) {
    metrics.reserveResource(user, size);
  }

  public static void unreserve(QueueMetrics metrics, String label, String user, Resource size) {
    metrics.unreserveResource(user, size);
  }

  /** Shows what is left on the nodes without a label. */
  public static void available(QueueMetrics metrics, String label, Resource room) {
    if (label.isEmpty()) {
      metrics.setAvailableResourcesToQueue(room);
    }
  }

  /** Shows what is left to a user; does nothing where users have no metrics. */
  public static void availableTo(QueueMetrics metrics, String user, Resource room) {
    metrics.setAvailableResourcesToUser(user, room);
  }
}
