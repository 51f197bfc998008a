package org.loomcard.yarn.hadoop;

import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.UpdatedContainerInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ActiveUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ClusterNodeTracker;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.util.resource.DominantResourceCalculator;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * What YARN calls, and what later releases have in the scheduler's base class; this is for Hadoop
 * 2.7. {@link HadoopCalls} has what the scheduler calls.
 */
public abstract class HadoopCompat<A extends SchedulerApplicationAttempt, N extends SchedulerNode>
    extends AbstractYarnScheduler<A, N> {
  protected final Lock readLock;
  protected final Lock writeLock;
  protected final ClusterNodeTracker<N> nodeTracker = new Nodes();

  protected HadoopCompat(String name) {
    super(name);
    ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    readLock = lock.readLock();
    writeLock = lock.writeLock();
  }

  /** Refuses a Hadoop that lacks what the scheduler needs: the ResourceManager does not start. */
  @Override
  public void serviceInit(Configuration conf) throws Exception {
    LinkCheck.require();
    super.serviceInit(conf);
  }

  /** What an AM's heartbeat brings and takes. */
  protected abstract Allocation heartbeat(ApplicationAttemptId attempt, List<ResourceRequest> asks,
      List<ContainerId> releases, List<String> blacklistAdditions, List<String> blacklistRemovals,
      ContainerUpdates updates);

  /** Changes an application's priority; nothing calls it. */
  protected abstract Priority changePriority(Priority priority, ApplicationId application,
      UserGroupInformation user, PriorityStore store) throws YarnException;

  /** Returns the priority that an application gets. */
  public abstract Priority checkAndGetApplicationPriority(Priority asked,
      UserGroupInformation user, String queue, ApplicationId id);

  /** Checks a move; {@link #moveApplication} does so too. */
  public abstract void preValidateMoveApplication(ApplicationId id, String target)
      throws YarnException;

  /** Ends a container so that another may have its room. */
  public abstract void killContainer(RMContainer container);

  protected abstract void completedContainerInternal(RMContainer container, ContainerStatus status,
      RMContainerEventType event);

  /** Seconds that an application may live; no application of this line asks for it. */
  protected abstract long lifetime(String queue, long asked);

  @Override
  public final void completedContainer(RMContainer container, ContainerStatus status,
      RMContainerEventType event) {
    if (container != null) {
      completedContainerInternal(container, status, event);
      // As in later releases: an AM that has not fetched its container need not ask again.
      recoverResourceRequestForContainer(container);
      HadoopCalls.clearRequest(container);
    }
  }

  @Override
  public final Allocation allocate(ApplicationAttemptId attempt, List<ResourceRequest> asks,
      List<ContainerId> releases, List<String> blacklistAdditions,
      List<String> blacklistRemovals) {
    return heartbeat(attempt, asks, releases, blacklistAdditions, blacklistRemovals, null);
  }

  /** Names the queue of a new application. */
  protected interface QueueRule {
    /** Returns the path of the queue; null for none. */
    String queueFor(ApplicationSubmissionContext asked, String user) throws YarnException;
  }

  /** Does nothing: this line has no placement manager, and the name is the one the user gave. */
  protected final void placeApplications(QueueRule rule) {
  }

  /** Does nothing: YARN itself starts what it monitors. */
  protected final void initializeMonitors(Configuration conf) {
  }

  /** Does nothing. */
  protected final void reinitializeMonitors(Configuration conf) {
  }

  /** Rounds asks up to what the cluster hands out. */
  public final void normalize(List<ResourceRequest> asks, String queue) {
    SchedulerUtils.normalizeRequests(asks, new DominantResourceCalculator(), getClusterResource(),
        getMinimumResourceCapability(), getMaximumResourceCapability());
  }

  protected final Resource getMinimumAllocation() {
    return Resource.newInstance(
        getConfig().getInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB,
            YarnConfiguration.DEFAULT_RM_SCHEDULER_MINIMUM_ALLOCATION_MB),
        getConfig().getInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_VCORES,
            YarnConfiguration.DEFAULT_RM_SCHEDULER_MINIMUM_ALLOCATION_VCORES));
  }

  protected final Resource getMaximumAllocation() {
    return Resource.newInstance(
        getConfig().getInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_MB,
            YarnConfiguration.DEFAULT_RM_SCHEDULER_MAXIMUM_ALLOCATION_MB),
        getConfig().getInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_VCORES,
            YarnConfiguration.DEFAULT_RM_SCHEDULER_MAXIMUM_ALLOCATION_VCORES));
  }

  /** Always 0. */
  public final Priority getMaxClusterLevelAppPriority() {
    return Priority.newInstance(0);
  }

  /** Does nothing: metrics do not show when a node was heard of. */
  protected final void setLastNodeUpdateTime(long nowMs) {
  }

  /** What each scheduler of this line does itself: containers that started and ended. */
  protected final void nodeUpdate(RMNode rmNode) {
    N node = nodes.get(rmNode.getNodeID());
    for (UpdatedContainerInfo news : rmNode.pullContainerUpdates()) {
      for (ContainerStatus launched : news.getNewlyLaunchedContainers()) {
        containerLaunchedOnNode(launched.getContainerId(), node);
      }
      for (ContainerStatus completed : news.getCompletedContainers()) {
        completedContainer(getRMContainer(completed.getContainerId()), completed,
            RMContainerEventType.FINISHED);
      }
    }
  }

  /** Does nothing: there are no changes of containers. */
  protected final void handleContainerUpdates(A attempt, ContainerUpdates updates) {
  }

  /** Does nothing. */
  protected final void rollbackContainerUpdate(ContainerId id) {
  }

  /** Does nothing: the nodes are not kept by label. */
  public final void updateTrackedLabels() {
  }

  /** Does nothing: YARN keeps the queue to which an application moved in memory only. */
  public static void storeQueue(RMContext context, RMApp app, String path) {
  }

  /** Where a changed priority would be written down; there is never one. */
  public static final class PriorityStore {
    private PriorityStore() {
    }

    /** Nothing changed. */
    public void skip() {
    }

    /** Writes the application's submission context to the state store. */
    public void write(RMContext context, RMApp app) {
    }
  }

  /** The nodes, which the base class keeps. */
  private final class Nodes extends ClusterNodeTracker<N> {
    private Nodes() {
      super(nodes);
    }

    @Override
    public void addNode(N node) {
      nodes.put(node.getNodeID(), node);
      Resources.addTo(clusterResource, node.getTotalResource());
      updateMaximumAllocation(node, true);
    }

    @Override
    public N removeNode(NodeId id) {
      N node = nodes.remove(id);
      if (node != null) {
        Resources.subtractFrom(clusterResource, node.getTotalResource());
        updateMaximumAllocation(node, false);
      }
      return node;
    }
  }

  /** A node with the names that later releases give to what it does. */
  public abstract static class Node extends SchedulerNode {
    protected Node(RMNode node, boolean usePortForName, Set<String> labels) {
      super(node, usePortForName, labels);
    }

    /** Refuses: no container is reserved on a node, room is reserved there for an ask. */
    @Override
    public final void reserveResource(SchedulerApplicationAttempt attempt, Priority priority,
        RMContainer container) {
      throw new UnsupportedOperationException();
    }

    /** Refuses likewise. */
    @Override
    public final void unreserveResource(SchedulerApplicationAttempt attempt) {
      throw new UnsupportedOperationException();
    }

    /** The node's label; empty for none. */
    public final String getPartition() {
      Set<String> labels = getLabels();
      return labels == null || labels.isEmpty() ? "" : labels.iterator().next();
    }

    public final Resource getUnallocatedResource() {
      return getAvailableResource();
    }

    public final List<RMContainer> getCopiedListOfRunningContainers() {
      return getRunningContainers();
    }

    @Override
    public final synchronized void allocateContainer(RMContainer container) {
      allocateContainer(container, false);
    }

    protected void allocateContainer(RMContainer container, boolean launched) {
      super.allocateContainer(container);
    }

    /** Releases a container that is there; {@code byNode}: as its node is lost. */
    public final synchronized void releaseContainer(ContainerId id, boolean byNode) {
      for (RMContainer container : getRunningContainers()) {
        if (container.getContainerId().equals(id)) {
          super.releaseContainer(container.getContainer());
          updateResourceForReleasedContainer(container.getContainer());
        }
      }
    }

    protected void updateResourceForReleasedContainer(Container container) {
    }

    @Override
    public final synchronized void setTotalResource(Resource resource) {
      updateTotalResource(resource);
    }

    protected void updateTotalResource(Resource resource) {
      super.setTotalResource(resource);
    }
  }

  /** An attempt. */
  public abstract static class Attempt extends LockedAttempt {
    Attempt(ApplicationAttemptId id, String user, Queue queue, ActiveUsersManager users,
        RMContext context) {
      super(id, user, queue, users, context);
    }
  }
}
