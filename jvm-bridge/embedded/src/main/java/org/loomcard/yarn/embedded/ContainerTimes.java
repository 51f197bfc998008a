package org.loomcard.yarn.embedded;

import org.apache.hadoop.yarn.server.api.ContainerType;
import org.apache.hadoop.yarn.server.nodemanager.ContainerStateTransitionListener;
import org.apache.hadoop.yarn.server.nodemanager.Context;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerEvent;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerImpl;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerState;

/**
 * Writes down when each container began to run and when its process ended, as its node saw it.
 *
 * <p>The ResourceManager forgets a container when it ends, and only our own scheduler keeps a
 * journal; this hook of the NodeManager measures every scheduler in the same way. It appends one
 * JSON object per line to the file that {@link ContainerLog} names.
 */
public final class ContainerTimes implements ContainerStateTransitionListener {
  private ContainerLog log;

  @Override
  public void init(Context context) {
    log = new ContainerLog(context.getConf());
  }

  @Override
  public void preTransition(ContainerImpl container, ContainerState before, ContainerEvent event) {
    // Only events that have already happened matter.
  }

  @Override
  public void postTransition(
      ContainerImpl container, ContainerState before, ContainerState after, ContainerEvent event) {
    log.changed(container, container.getContainerTokenIdentifier().getContainerType()
        == ContainerType.APPLICATION_MASTER, before, after);
  }
}
