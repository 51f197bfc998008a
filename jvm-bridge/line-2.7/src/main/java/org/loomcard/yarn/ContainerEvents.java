package org.loomcard.yarn;

import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerExpiredSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;

/** The scheduler events about containers that the ResourceManager of Hadoop 2.7 sends. */
final class ContainerEvents {
  private ContainerEvents() {
  }

  /** Handles an event; returns false for one that does not concern a container. */
  static boolean route(SchedulerEvent event, ContainerLifecycle containers) {
    switch (event.getType()) {
      case CONTAINER_EXPIRED:
        containers.expire(((ContainerExpiredSchedulerEvent) event).getContainerId(), false);
        return true;
      case CONTAINER_RESCHEDULED:
        return true; // what it served was asked for again when the container ended
      default:
        return false;
    }
  }
}
