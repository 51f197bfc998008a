package org.loomcard.yarn.hadoop;

import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.SettableFuture;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.placement.PlacementManager;
import org.apache.hadoop.yarn.server.resourcemanager.placement.PlacementRule;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.records.ApplicationStateData;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacitySchedulerContext;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ContainerRequest;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/**
 * What YARN calls, where that differs between Hadoop 2.10 and 3.1 to 3.5; one jar serves them all.
 * A method that changed stands here in each of its forms, without {@code @Override} where 3.4.2
 * does not have it. What only some releases have is used in methods whose signature names a class
 * that the others lack: those never call them. {@link HadoopCalls} has what the scheduler calls.
 */
public abstract class HadoopCompat<A extends SchedulerApplicationAttempt, N extends SchedulerNode>
    extends AbstractYarnScheduler<A, N> {
  protected HadoopCompat(String name) {
    super(name);
  }

  /** Refuses a Hadoop that lacks what the scheduler calls: the ResourceManager does not start. */
  @Override
  public void serviceInit(Configuration conf) throws Exception {
    LinkCheck.require();
    super.serviceInit(conf);
  }

  /** What an AM's heartbeat brings and takes; the arguments that all lines share. */
  protected abstract Allocation heartbeat(ApplicationAttemptId attempt, List<ResourceRequest> asks,
      List<ContainerId> releases, List<String> blacklistAdditions, List<String> blacklistRemovals,
      ContainerUpdates updates);

  /** Changes an application's priority; {@code store} writes it down. */
  protected abstract Priority changePriority(Priority priority, ApplicationId application,
      UserGroupInformation user, PriorityStore store) throws YarnException;

  @Override
  public final Allocation allocate(ApplicationAttemptId attempt, List<ResourceRequest> asks,
      List<SchedulingRequest> schedulingRequests, List<ContainerId> releases,
      List<String> blacklistAdditions,
      List<String> blacklistRemovals, ContainerUpdates updates) {
    return heartbeat(attempt, asks, releases, blacklistAdditions, blacklistRemovals, updates);
  }

  /** The same in 2.10. */
  public final Allocation allocate(ApplicationAttemptId attempt, List<ResourceRequest> asks,
      List<ContainerId> releases, List<String> blacklistAdditions, List<String> blacklistRemovals,
      ContainerUpdates updates) {
    return heartbeat(attempt, asks, releases, blacklistAdditions, blacklistRemovals, updates);
  }

  @Override
  public final Priority updateApplicationPriority(Priority priority, ApplicationId application,
      SettableFuture<Object> stored, UserGroupInformation user) throws YarnException {
    return changePriority(priority, application, user,
        new PriorityStore(stored, () -> stored.set(null)));
  }

  /** The same up to 3.2. */
  public final Priority updateApplicationPriority(Priority priority, ApplicationId application,
      com.google.common.util.concurrent.SettableFuture<Object> stored, UserGroupInformation user)
      throws YarnException {
    return changePriority(priority, application, user,
        new PriorityStore(stored, () -> stored.set(null)));
  }

  /** Which queue an application goes to. */
  protected interface QueueRule {
    /**
     * Returns the path of the queue; null for none.
     *
     * @throws YarnException when the application is refused; the submitter reads the message
     */
    String queueFor(ApplicationSubmissionContext asked, String user) throws YarnException;
  }

  /**
   * Has YARN's placement manager ask this rule, and write down a new application's queue by its
   * path, whatever the user called it: a short name, or the rules, may mean another queue, or none,
   * when the application is recovered.
   */
  protected final void placeApplications(QueueRule rule) {
    PlacementManager placement = rmContext.getQueuePlacementManager();
    if (placement != null) {
      placement.updateRules(Collections.<PlacementRule>singletonList(new QueuePathRule(rule)));
    }
  }

  /** Starts what {@code yarn.resourcemanager.scheduler.monitor.enable} asks for. */
  protected final void initializeMonitors(Configuration conf) {
    HadoopCalls.startMonitors(this, rmContext, conf);
  }

  /** Starts and stops them as the settings say now. */
  protected final void reinitializeMonitors(Configuration conf) {
    HadoopCalls.changeMonitors(this, rmContext, conf);
  }

  /** Rounds asks of an application in {@code queue} up to what the cluster hands out. */
  public final void normalize(List<ResourceRequest> asks, String queue) {
    HadoopCalls.normalize(this, asks, queue);
  }

  /** Seconds that an application of {@code queue} may live that asks for {@code asked}. */
  protected abstract long lifetime(String queue, long asked);

  @Override
  public final long checkAndGetApplicationLifetime(String queue, long asked) {
    return lifetime(queue, asked);
  }

  /** The same in 3.5. */
  public final long checkAndGetApplicationLifetime(String queue, long asked, RMAppImpl app) {
    return lifetime(queue, asked);
  }

  @Override
  public final long getMaximumApplicationLifetime(String queue) {
    long most = lifetime(queue, Long.MAX_VALUE);
    return most == Long.MAX_VALUE ? -1 : most;
  }

  /**
   * Nodes have other labels now: YARN's tracker looks for a node that is lost under the label that
   * it has then, and fails where it did not hear of it.
   */
  public final void updateTrackedLabels() {
    Map<String, Set<NodeId>> nodes = new HashMap<>();
    HadoopCalls.labels(nodeTracker, rmContext)
        .forEach(label -> nodes.put(label, new HashSet<>()));
    for (N node : nodeTracker.getAllNodes()) {
      nodes.computeIfAbsent(node.getPartition(), label -> new HashSet<>()).add(node.getNodeID());
    }
    nodes.forEach((label, ids) -> HadoopCalls.updateLabel(nodeTracker, label, ids));
  }

  /** Writes the path of the queue that an application moved to, in place of what it was called. */
  public static void storeQueue(RMContext context, RMApp app, String path) {
    app.getApplicationSubmissionContext().setQueue(path);
    new PriorityStore(null, null).write(context, app);
  }

  /** Where a changed priority is written down, and the admin call that waits for it. */
  public static final class PriorityStore {
    private final Object stored;
    private final Runnable complete;

    private PriorityStore(Object stored, Runnable complete) {
      this.stored = stored;
      this.complete = complete;
    }

    /** Nothing changed. */
    public void skip() {
      complete.run();
    }

    /** Writes the application's submission context to the state store. */
    public void write(RMContext context, RMApp app) {
      ApplicationStateData state = ApplicationStateData.newInstance(app.getSubmitTime(),
          app.getStartTime(), app.getApplicationSubmissionContext(), app.getUser(),
          app.getCallerContext());
      state.setApplicationTimeouts(app.getApplicationTimeouts());
      HadoopCalls.copy(app, state);
      HadoopCalls.store(context.getStateStore(), state, stored);
    }
  }

  /** YARN's form of a rule. */
  private static final class QueuePathRule extends PlacementRule {
    private final QueueRule rule;

    private QueuePathRule(QueueRule rule) {
      this.rule = rule;
    }

    @Override
    public boolean initialize(ResourceScheduler scheduler) {
      return true;
    }

    /** The same in 3.2.1. */
    public boolean initialize(CapacitySchedulerContext context) {
      return true;
    }

    @Override
    public ApplicationPlacementContext getPlacementForApp(ApplicationSubmissionContext asked,
        String user) throws YarnException {
      String found = rule.queueFor(asked, user);
      return found == null ? null : new ApplicationPlacementContext(found);
    }

    /** The same in 2.10. */
    public String getQueueForApp(ApplicationSubmissionContext asked, String user)
        throws YarnException {
      return rule.queueFor(asked, user);
    }
  }

  /** A node. A NodeManager of 2.7 reports no utilization, without which YARN's pages fail. */
  public abstract static class Node extends SchedulerNode {
    private static final ResourceUtilization UNKNOWN = ResourceUtilization.newInstance(0, 0, 0f);

    protected Node(RMNode node, boolean usePortForName, Set<String> labels) {
      super(node, usePortForName, labels);
    }

    @Override
    public final void setAggregatedContainersUtilization(ResourceUtilization reported) {
      super.setAggregatedContainersUtilization(reported == null ? UNKNOWN : reported);
    }

    @Override
    public final void setNodeUtilization(ResourceUtilization reported) {
      super.setNodeUtilization(reported == null ? UNKNOWN : reported);
    }

    /** Refuses: no container is reserved on a node, room is reserved there for an ask. */
    @Override
    public final void reserveResource(SchedulerApplicationAttempt attempt, SchedulerRequestKey key,
        RMContainer container) {
      throw new UnsupportedOperationException();
    }

    /** Refuses likewise. */
    @Override
    public final void unreserveResource(SchedulerApplicationAttempt attempt) {
      throw new UnsupportedOperationException();
    }
  }

  /** An attempt whose asks and containers come back after a restart of the ResourceManager. */
  public abstract static class Attempt extends SchedulerApplicationAttempt {
    Attempt(ApplicationAttemptId id, String user, Queue queue, AbstractUsersManager users,
        RMContext context) {
      super(id, user, queue, users, context);
    }

    /** The containers whose preemption is to be announced to the AM; null for none. */
    public abstract Set<ContainerId> pullPreemptions();

    /** Rows of asks came back because a container that served them was lost. */
    public abstract void asksCameBack(List<ResourceRequest> rows);

    @Override
    public final void recoverResourceRequestsForContainer(ContainerRequest request) {
      recoverResourceRequestsForContainer(request.getResourceRequests());
    }

    /** The same in 2.10. Does what YARN's own method does in all releases. */
    public final void recoverResourceRequestsForContainer(List<ResourceRequest> rows) {
      writeLock.lock();
      try {
        if (!isStopped()) {
          appSchedulingInfo.updateResourceRequests(rows, true);
        }
      } finally {
        writeLock.unlock();
      }
      asksCameBack(rows);
    }

    /** Returns the ResourceManager's state machine of a new container of this attempt. */
    protected final RMContainerImpl newRMContainer(Container container, SchedulerRequestKey key,
        String label) {
      return YarnRecords.newRMContainer(container, key, getApplicationAttemptId(), getUser(),
          rmContext, label, queue.getQueueName());
    }

    /** Notes, for people, that the AM has got a container. */
    protected final void noteAssigned() {
      updateAMContainerDiagnostics(AMState.ASSIGNED, null);
    }

    /** Forgets a live container. */
    final void forget(ContainerId id) {
      HadoopCalls.forget(this, id);
    }
  }
}
