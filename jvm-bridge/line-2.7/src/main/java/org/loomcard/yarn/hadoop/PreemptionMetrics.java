package org.loomcard.yarn.hadoop;

import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;

/** The queues' metrics of Hadoop 2.7 do not count preempted containers. */
public final class PreemptionMetrics {
  private PreemptionMetrics() {
  }

  public static void ended(QueueMetrics metrics, RMContainer container, ContainerStatus status) {
  }
}
