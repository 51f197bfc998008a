package org.loomcard.yarn.state;

import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;

/** How a container or a node ended, in the words of docs/reference/wire.md. */
public final class ContainerEndKind {
  private ContainerEndKind() {
  }

  public static String of(NodeState state) {
    switch (state) {
      case LOST: return "lost";
      case DECOMMISSIONED: return "decommissioned";
      default: return "removed";
    }
  }

  public static String of(ContainerStatus status, RMContainerEventType event) {
    switch (event) {
      case FINISHED: return "completed";
      case RELEASED: return "released";
      case EXPIRE: return "expired";
      default: break;
    }
    if (status.getExitStatus() == ContainerExitStatus.PREEMPTED) {
      return "preempted";
    }
    return SchedulerUtils.LOST_CONTAINER.equals(status.getDiagnostics()) ? "lost" : "killed";
  }
}
