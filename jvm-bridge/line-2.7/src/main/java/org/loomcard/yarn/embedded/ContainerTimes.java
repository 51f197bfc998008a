package org.loomcard.yarn.embedded;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.event.EventHandler;
import org.apache.hadoop.yarn.server.nodemanager.Context;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.Container;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerEvent;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerState;

/**
 * Writes down when each container began to run and when its process ended, as its node saw it. The
 * NodeManager's dispatcher calls it, in one thread, after the container has handled the event.
 */
final class ContainerTimes implements EventHandler<ContainerEvent> {
  private static final long NUMBER = 0xff_ffff_ffffL;
  private final ContainerLog log;
  private final Context context;
  private final Map<ContainerId, ContainerState> states = new HashMap<>();

  ContainerTimes(ContainerLog log, Context context) {
    this.log = log;
    this.context = context;
  }

  @Override
  public void handle(ContainerEvent event) {
    ContainerId id = event.getContainerID();
    Container container = context.getContainers().get(id);
    if (container == null) {
      return;
    }
    ContainerState after = container.getContainerState();
    ContainerState before = after == ContainerState.DONE ? states.remove(id)
        : states.put(id, after);
    if (before != null) {
      log.changed(container, (id.getContainerId() & NUMBER) == 1, before, after);
    }
  }
}
