package org.loomcard.yarn.embedded;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.event.Dispatcher;
import org.apache.hadoop.yarn.server.nodemanager.ContainerExecutor;
import org.apache.hadoop.yarn.server.nodemanager.Context;
import org.apache.hadoop.yarn.server.nodemanager.LocalDirsHandlerService;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.ContainerManagerImpl;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.Container;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerEvent;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerEventType;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerExitEvent;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.launcher.ContainersLauncher;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.launcher.ContainersLauncherEvent;

/**
 * Runs the player's containers without processes: the NodeManager waits as long as the command
 * says, and then gets an exit. Any other command is launched as usual.
 *
 * <p>Every step of a NodeManager except the last one is YARN's own. A ContainerExecutor would be a
 * later place for this change. But before it is called the NodeManager writes a script and tokens,
 * and without native code starts a chmod for each: too much for dozens of nodes on two cores.
 */
public final class VirtualContainersLauncher extends ContainersLauncher {
  static final int KILLED = 143;

  private static final ScheduledExecutorService CLOCK =
      Executors.newSingleThreadScheduledExecutor(VirtualContainersLauncher::daemon);
  private static final ExecutorService HOLDERS =
      Executors.newCachedThreadPool(VirtualContainersLauncher::daemon);

  private final Map<ContainerId, VirtualContainer> containers = new ConcurrentHashMap<>();
  private Dispatcher dispatcher;

  @Override
  public void init(Context context, Dispatcher dispatcher, ContainerExecutor executor,
      LocalDirsHandlerService folders, ContainerManagerImpl manager) {
    super.init(context, dispatcher, executor, folders, manager);
    this.dispatcher = dispatcher;
  }

  @Override
  public void handle(ContainersLauncherEvent event) {
    ContainerId id = event.getContainer().getContainerId();
    switch (event.getType()) {
      case LAUNCH_CONTAINER:
        VirtualContainer container = VirtualContainer.of(event.getContainer());
        if (container == null) {
          super.handle(event);
        } else {
          launch(event.getContainer(), container);
        }
        return;
      case CLEANUP_CONTAINER:
      case CLEANUP_CONTAINER_FOR_REINIT:
        VirtualContainer running = containers.get(id);
        if (running != null) {
          running.kill();
          ended(id, KILLED);
        } else {
          super.handle(event);
        }
        return;
      default:
        super.handle(event);
    }
  }

  private void launch(Container launched, VirtualContainer container) {
    ContainerId id = launched.getContainerId();
    containers.put(id, container);
    tell(new ContainerEvent(id, ContainerEventType.CONTAINER_LAUNCHED));
    if (container.isTimed()) {
      CLOCK.schedule(() -> ended(id, container.exit()), container.ms(), TimeUnit.MILLISECONDS);
    } else {
      HOLDERS.execute(() -> ended(id, container.hold(launched.getCredentials())));
    }
  }

  /** The first end counts: a container may be killed while its time runs out. */
  private void ended(ContainerId id, int exit) {
    if (containers.remove(id) == null) {
      return;
    }
    if (exit == 0) {
      tell(new ContainerEvent(id, ContainerEventType.CONTAINER_EXITED_WITH_SUCCESS));
    } else {
      tell(new ContainerExitEvent(id, exit == KILLED
          ? ContainerEventType.CONTAINER_KILLED_ON_REQUEST
          : ContainerEventType.CONTAINER_EXITED_WITH_FAILURE, exit, "exit status " + exit));
    }
  }

  @SuppressWarnings("unchecked")  // YARN's dispatcher takes events of every kind
  private void tell(ContainerEvent event) {
    dispatcher.getEventHandler().handle(event);
  }

  private static Thread daemon(Runnable what) {
    Thread thread = new Thread(what, "virtual containers");
    thread.setDaemon(true);
    return thread;
  }
}
