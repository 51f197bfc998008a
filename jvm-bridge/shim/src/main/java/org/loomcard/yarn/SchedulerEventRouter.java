package org.loomcard.yarn;

import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeResourceUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends each of the ResourceManager's scheduler events to the method that handles it. */
final class SchedulerEventRouter {
  private static final Logger LOG = LoggerFactory.getLogger(SchedulerEventRouter.class);
  private final NodeLifecycle nodes;
  private final ContainerLifecycle containers;
  private final ApplicationLifecycle applications;

  SchedulerEventRouter(NodeLifecycle nodes, ContainerLifecycle containers,
      ApplicationLifecycle applications) {
    this.nodes = nodes;
    this.containers = containers;
    this.applications = applications;
  }

  void route(SchedulerEvent event) {
    switch (event.getType()) {
      case NODE_ADDED:
        NodeAddedSchedulerEvent added = (NodeAddedSchedulerEvent) event;
        nodes.add(added.getAddedRMNode(), added.getContainerReports());
        break;
      case NODE_REMOVED:
        nodes.remove(((NodeRemovedSchedulerEvent) event).getRemovedRMNode());
        break;
      case NODE_UPDATE:
        nodes.heartbeat(((NodeUpdateSchedulerEvent) event).getRMNode());
        break;
      case NODE_RESOURCE_UPDATE:
        NodeResourceUpdateSchedulerEvent resized = (NodeResourceUpdateSchedulerEvent) event;
        nodes.resize(resized.getRMNode(), resized.getResourceOption());
        break;
      case NODE_LABELS_UPDATE:
        nodes.relabel(((NodeLabelsUpdateSchedulerEvent) event).getUpdatedNodeToLabels());
        break;
      default:
        routeApplication(event);
    }
  }

  private void routeApplication(SchedulerEvent event) {
    switch (event.getType()) {
      case APP_ADDED:
        applications.submissions().add((AppAddedSchedulerEvent) event);
        break;
      case APP_REMOVED:
        AppRemovedSchedulerEvent removed = (AppRemovedSchedulerEvent) event;
        applications.finishApplication(removed.getApplicationID(), removed.getFinalState());
        break;
      case APP_ATTEMPT_ADDED:
        AppAttemptAddedSchedulerEvent begun = (AppAttemptAddedSchedulerEvent) event;
        applications.addAttempt(begun.getApplicationAttemptId(),
            begun.getTransferStateFromPreviousAttempt(), begun.getIsAttemptRecovering());
        break;
      case APP_ATTEMPT_REMOVED:
        AppAttemptRemovedSchedulerEvent ended = (AppAttemptRemovedSchedulerEvent) event;
        applications.finishAttempt(ended.getApplicationAttemptID(), ended.getFinalAttemptState(),
            ended.getKeepContainersAcrossAppAttempts());
        break;
      default:
        if (!ContainerEvents.route(event, containers)) {
          LOG.debug("{} does not concern Loomcard", event.getType());
        }
    }
  }
}
