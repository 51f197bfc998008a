package org.loomcard.yarn;

import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerExpiredSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerPreemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeResourceUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ReleaseContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends each of the ResourceManager's scheduler events to the method that handles it. */
final class SchedulerEventRouter {
  private static final Logger LOG = LoggerFactory.getLogger(SchedulerEventRouter.class);
  private final LoomcardScheduler scheduler;
  private final NodeLifecycle nodes;
  private final ContainerLifecycle containers;
  private final ApplicationLifecycle applications;

  SchedulerEventRouter(LoomcardScheduler scheduler, NodeLifecycle nodes,
      ContainerLifecycle containers, ApplicationLifecycle applications) {
    this.scheduler = scheduler;
    this.nodes = nodes;
    this.containers = containers;
    this.applications = applications;
  }

  void route(SchedulerEvent event) {
    switch (event.getType()) {
      case NODE_ADDED: nodeAdded((NodeAddedSchedulerEvent) event); break;
      case NODE_REMOVED: nodeRemoved((NodeRemovedSchedulerEvent) event); break;
      case NODE_UPDATE: nodes.heartbeat(((NodeUpdateSchedulerEvent) event).getRMNode()); break;
      case NODE_RESOURCE_UPDATE: nodeResized((NodeResourceUpdateSchedulerEvent) event); break;
      case NODE_LABELS_UPDATE:
        nodes.relabel(((NodeLabelsUpdateSchedulerEvent) event).getUpdatedNodeToLabels());
        break;
      case APP_ADDED: applicationAdded((AppAddedSchedulerEvent) event); break;
      case APP_REMOVED: applicationRemoved((AppRemovedSchedulerEvent) event); break;
      case APP_ATTEMPT_ADDED: attemptAdded((AppAttemptAddedSchedulerEvent) event); break;
      case APP_ATTEMPT_REMOVED: attemptRemoved((AppAttemptRemovedSchedulerEvent) event); break;
      case CONTAINER_EXPIRED: containerExpired((ContainerExpiredSchedulerEvent) event); break;
      case RELEASE_CONTAINER: containerReleased((ReleaseContainerEvent) event); break;
      case MARK_CONTAINER_FOR_PREEMPTION:
        containers.announcePreemption(((ContainerPreemptEvent) event).getContainer());
        break;
      case MARK_CONTAINER_FOR_KILLABLE:
        containers.endByPreemption(((ContainerPreemptEvent) event).getContainer(),
            SchedulerUtils.PREEMPTED_CONTAINER);
        break;
      default: LOG.debug("{} does not concern Loomcard", event.getType());
    }
  }

  private void nodeAdded(NodeAddedSchedulerEvent event) {
    nodes.add(event.getAddedRMNode(), event.getContainerReports());
  }

  private void nodeRemoved(NodeRemovedSchedulerEvent event) {
    nodes.remove(event.getRemovedRMNode());
  }

  private void nodeResized(NodeResourceUpdateSchedulerEvent event) {
    scheduler.updateNodeResource(event.getRMNode(), event.getResourceOption());
  }

  private void applicationAdded(AppAddedSchedulerEvent event) {
    applications.submissions().add(event);
  }

  private void applicationRemoved(AppRemovedSchedulerEvent event) {
    applications.finishApplication(event.getApplicationID(),
        event.getFinalState());
  }

  private void attemptAdded(AppAttemptAddedSchedulerEvent event) {
    applications.addAttempt(event.getApplicationAttemptId(),
        event.getTransferStateFromPreviousAttempt(),
        event.getIsAttemptRecovering());
  }

  private void attemptRemoved(AppAttemptRemovedSchedulerEvent event) {
    applications.finishAttempt(event.getApplicationAttemptID(),
        event.getFinalAttemptState(),
        event.getKeepContainersAcrossAppAttempts());
  }

  private void containerExpired(ContainerExpiredSchedulerEvent event) {
    ContainerId id = event.getContainerId();
    if (event.isIncrease()) {
      scheduler.rollBackIncrease(id);
    } else {
      containers.end(scheduler.getRMContainer(id),
          SchedulerUtils.createAbnormalContainerStatus(id, SchedulerUtils.EXPIRED_CONTAINER),
          RMContainerEventType.EXPIRE);
    }
  }

  private void containerReleased(ReleaseContainerEvent event) {
    RMContainer container = event.getContainer();
    containers.end(container,
        SchedulerUtils.createAbnormalContainerStatus(container.getContainerId(),
            SchedulerUtils.RELEASED_CONTAINER), RMContainerEventType.RELEASED);
  }
}
