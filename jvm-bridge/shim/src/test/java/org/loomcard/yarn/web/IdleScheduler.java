package org.loomcard.yarn.web;

import java.io.IOException;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventHandler;
import org.apache.hadoop.yarn.proto.YarnServiceProtos.SchedulerResourceTypes;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.loomcard.yarn.status.StatusProvider;
import org.loomcard.yarn.status.StatusSource;

/**
 * A scheduler that shows a status, and accepts every application without allocating anything. It
 * extends no stock scheduler, for which the web side would take another path.
 */
public class IdleScheduler extends AbstractYarnScheduler<FiCaSchedulerApp, FiCaSchedulerNode>
    implements StatusProvider {
  static final SampleStatus STATUS = new SampleStatus();

  public IdleScheduler() {
    super(IdleScheduler.class.getName());
    applications = new ConcurrentHashMap<>();
  }

  @Override
  public void serviceInit(Configuration conf) throws Exception {
    super.serviceInit(conf);
    WebSide.register(conf, rmContext, this);
  }

  @Override
  public void serviceStop() throws Exception {
    WebSide.unregister(getConfig());
    super.serviceStop();
  }

  @Override
  public StatusSource status() {
    return STATUS;
  }

  @Override
  public void setRMContext(RMContext context) {
    rmContext = context;
  }

  @Override
  public void reinitialize(Configuration conf, RMContext context) {
  }

  @Override
  public void recover(RMStateStore.RMState state) {
  }

  @Override
  @SuppressWarnings("rawtypes")
  public void handle(SchedulerEvent event) {
    EventHandler<Event> answers = rmContext.getDispatcher().getEventHandler();
    if (event instanceof AppAddedSchedulerEvent) {
      answers.handle(new RMAppEvent(((AppAddedSchedulerEvent) event).getApplicationId(),
          RMAppEventType.APP_ACCEPTED));
    } else if (event instanceof AppAttemptAddedSchedulerEvent) {
      answers.handle(new RMAppAttemptEvent(
          ((AppAttemptAddedSchedulerEvent) event).getApplicationAttemptId(),
          RMAppAttemptEventType.ATTEMPT_ADDED));
    }
  }

  @Override
  public QueueInfo getQueueInfo(String queue, boolean children, boolean recursive)
      throws IOException {
    throw new IOException("no queues here");
  }

  @Override
  public List<QueueUserACLInfo> getQueueUserAclInfo() {
    return Collections.emptyList();
  }

  @Override
  public ResourceCalculator getResourceCalculator() {
    return new DefaultResourceCalculator();
  }

  @Override
  public int getNumClusterNodes() {
    return 0;
  }

  @Override
  public Allocation allocate(ApplicationAttemptId attempt, List<ResourceRequest> asks,
      List<SchedulingRequest> requests, List<ContainerId> releases, List<String> additions,
      List<String> removals, ContainerUpdates updates) {
    return EMPTY_ALLOCATION;
  }

  @Override
  public QueueMetrics getRootQueueMetrics() {
    return QueueMetrics.forQueue("root", null, false, getConfig());
  }

  @Override
  public boolean checkAccess(UserGroupInformation user, QueueACL acl, String queue) {
    return false;
  }

  @Override
  public List<ApplicationAttemptId> getAppsInQueue(String queue) {
    return Collections.emptyList();
  }

  @Override
  public EnumSet<SchedulerResourceTypes> getSchedulingResourceTypes() {
    return EnumSet.of(SchedulerResourceTypes.MEMORY);
  }

  @Override
  public void killContainer(RMContainer container) {
  }

  @Override
  protected void completedContainerInternal(RMContainer container, ContainerStatus status,
      RMContainerEventType event) {
  }
}
