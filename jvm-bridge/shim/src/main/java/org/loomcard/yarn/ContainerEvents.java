package org.loomcard.yarn;

import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerExpiredSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerPreemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ReleaseContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;

/** The ResourceManager's scheduler events about containers. */
final class ContainerEvents {
  private ContainerEvents() {
  }

  /** Handles an event; returns false for one that does not concern a container. */
  static boolean route(SchedulerEvent event, ContainerLifecycle containers) {
    switch (event.getType()) {
      case CONTAINER_EXPIRED:
        ContainerExpiredSchedulerEvent expired = (ContainerExpiredSchedulerEvent) event;
        containers.expire(expired.getContainerId(), expired.isIncrease());
        return true;
      case RELEASE_CONTAINER:
        containers.release(((ReleaseContainerEvent) event).getContainer());
        return true;
      case MARK_CONTAINER_FOR_PREEMPTION:
        containers.announcePreemption(((ContainerPreemptEvent) event).getContainer());
        return true;
      case MARK_CONTAINER_FOR_KILLABLE:
        containers.endByPreemption(((ContainerPreemptEvent) event).getContainer(),
            SchedulerUtils.PREEMPTED_CONTAINER);
        return true;
      default:
        return false;
    }
  }
}
