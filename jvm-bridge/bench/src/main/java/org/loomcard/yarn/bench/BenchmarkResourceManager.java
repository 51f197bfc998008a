package org.loomcard.yarn.bench;

import java.util.function.Consumer;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.event.AsyncDispatcher;
import org.apache.hadoop.yarn.event.Dispatcher;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventDispatcher;
import org.apache.hadoop.yarn.event.EventHandler;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEventType;

/**
 * The production ResourceManager with its production dispatchers, without a web page. It is
 * observed in two places: when an allocation is made, and when a node update has been handled.
 */
final class BenchmarkResourceManager extends ResourceManager {
  static final String SCHEDULER_DISPATCHER = "SchedulerEventDispatcher";
  static final String RM_DISPATCHER = "RM Event dispatcher";

  private final AllocationWatch watch;
  private final Consumer<NodeId> nodeUpdated;

  BenchmarkResourceManager(AllocationWatch watch, Consumer<NodeId> nodeUpdated) {
    this.watch = watch;
    this.nodeUpdated = nodeUpdated;
  }

  @Override
  protected Dispatcher createDispatcher() {
    return new WatchedDispatcher(watch);
  }

  @Override
  protected EventHandler<SchedulerEvent> createSchedulerEventDispatcher() {
    return new EventDispatcher<SchedulerEvent>(this::handled, SCHEDULER_DISPATCHER);
  }

  private void handled(SchedulerEvent event) {
    scheduler.handle(event);
    if (event.getType() == SchedulerEventType.NODE_UPDATE) {
      nodeUpdated.accept(((NodeUpdateSchedulerEvent) event).getRMNode().getNodeID());
    }
  }

  @Override
  protected void startWepApp() {
    // No page is measured, and a port could be taken already.
  }

  /** The RM's own dispatcher; each event passes the watch on its way into the queue. */
  private static final class WatchedDispatcher extends AsyncDispatcher {
    private final EventHandler<Event> watched;

    WatchedDispatcher(AllocationWatch watch) {
      super(RM_DISPATCHER);
      EventHandler<Event> queue = super.getEventHandler();
      watched = event -> {
        if (event.getType() == RMAppAttemptEventType.CONTAINER_ALLOCATED) {
          watch.allocated(((RMAppAttemptEvent) event).getApplicationAttemptId());
        }
        queue.handle(event);
      };
    }

    @Override
    public EventHandler<Event> getEventHandler() {
      // Null during the constructor of the superclass.
      return watched == null ? super.getEventHandler() : watched;
    }
  }
}
