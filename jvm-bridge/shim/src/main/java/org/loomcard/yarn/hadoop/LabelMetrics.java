package org.loomcard.yarn.hadoop;

import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;

/** Changes what a queue's metrics count on the nodes of a label. */
public final class LabelMetrics {
  private LabelMetrics() {
  }

  public static void allocate(QueueMetrics metrics, String label, String user, Resource size) {
    metrics.allocateResources(label, user, 1, size, false);
  }

  public static void release(QueueMetrics metrics, String label, String user, Resource size) {
    metrics.releaseResources(label, user, 1, size);
  }

  public static void reserve(QueueMetrics metrics, String label, String user, Resource size) {
    metrics.reserveResource(label, user, size);
  }

  public static void unreserve(QueueMetrics metrics, String label, String user, Resource size) {
    metrics.unreserveResource(label, user, size);
  }

  public static void available(QueueMetrics metrics, String label, Resource room) {
    metrics.setAvailableResourcesToQueue(label, room);
  }

  /** Shows what is left to a user; does nothing where users have no metrics. */
  public static void availableTo(QueueMetrics metrics, String user, Resource room) {
    metrics.setAvailableResourcesToUser("", user, room);
  }
}
