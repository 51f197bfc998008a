package org.loomcard.yarn.hadoop;

import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;

/** Counts preempted containers in their queue's metrics, as CapacityScheduler does. */
public final class PreemptionMetrics {
  private static final long SECOND_MS = 1000;

  private PreemptionMetrics() {
  }

  /** Notes that a container has ended; a preempted one counts with its size and how long it ran. */
  public static void ended(QueueMetrics metrics, RMContainer container, ContainerStatus status) {
    if (status.getExitStatus() != ContainerExitStatus.PREEMPTED) {
      return;
    }
    Resource size = container.getAllocatedResource();
    long ranMs = Math.max(0, container.getFinishTime() - container.getCreationTime());
    metrics.preemptContainer();
    metrics.updatePreemptedMemoryMBSeconds(size.getMemorySize() * ranMs / SECOND_MS);
    metrics.updatePreemptedVcoreSeconds(size.getVirtualCores() * ranMs / SECOND_MS);
    HadoopCalls.countPreempted(metrics, size, ranMs / SECOND_MS);
  }
}
