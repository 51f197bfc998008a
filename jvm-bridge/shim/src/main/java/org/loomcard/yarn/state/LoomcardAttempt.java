package org.loomcard.yarn.state;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerFinishedEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.hadoop.LabelMetrics;
import org.loomcard.yarn.hadoop.PreemptionMetrics;
import org.loomcard.yarn.queues.LoomcardQueue;

/**
 * One attempt: its asks, its blacklist and its live containers.
 */
public final class LoomcardAttempt extends Reservation.Reserver {
  private final int number;
  private final LoomcardApplication application;
  private final ClusterState cluster;
  private final AskRows askRows = new AskRows(this);
  private final ReportedAsks reportedAsks;
  /**
   * Nodes where AMs failed. YARN keeps them apart from the AM's own blacklist, and has no getter
   * for them.
   */
  private final Set<String> systemBlacklist = new TreeSet<>();
  private final UserAsks userAsks;
  private volatile int blacklisted;
  private final Set<String> labels = ConcurrentHashMap.newKeySet();
  private final Set<ContainerId> toBePreempted = ConcurrentHashMap.newKeySet();
  /** For how many asks that want nothing more the time of their last container is kept. */
  private static final int SERVED_KEPT = 64;
  /** When a container of an ask was allocated last. */
  private final Map<SchedulerRequestKey, Long> served = new ConcurrentHashMap<>();
  private volatile boolean registered;

  LoomcardAttempt(int number, LoomcardApplication application, ApplicationAttemptId id,
      ClusterState cluster, UserAsks userAsks, RMContext context) {
    super(id, application.user(), application.queue(),
        application.queue().users(), context);
    this.number = number;
    this.application = application;
    this.cluster = cluster;
    this.userAsks = userAsks;
    this.reportedAsks = new ReportedAsks(this, cluster);
  }

  /** The ResourceManager's own view of this attempt; null for one that it does not know. */
  public RMAppAttempt appAttempt() {
    RMApp app = rmContext.getRMApps().get(getApplicationId());
    return app == null ? null : app.getCurrentAppAttempt();
  }

  public AskRows askRows() {
    return askRows;
  }

  /** What all live attempts of its user ask for together. */
  public UserAsks userAsks() {
    return userAsks;
  }

  /** Returns as how many rows the names on its AM's blacklist count. */
  int blacklisted() {
    return blacklisted;
  }

  /** What the policy knows of its asks. */
  public ReportedAsks reportedAsks() {
    return reportedAsks;
  }

  @Override
  protected SchedulerNode node(NodeId id) {
    return cluster.node(id);
  }

  @Override
  protected void updateBegun(ContainerId id, RMContainer second) {
    cluster.updateBegun(id, second);
  }

  public int number() {
    return number;
  }

  public LoomcardApplication application() {
    return application;
  }

  public LoomcardQueue loomcardQueue() {
    return application.queue();
  }

  public boolean isRegistered() {
    return registered;
  }

  /** Notes the AM's first own call; returns whether this is the first. */
  boolean register() {
    boolean first = !registered;
    registered = true;
    if (first && !systemBlacklist.isEmpty()) {
      reportedAsks.blacklistChanged();
    }
    return first;
  }

  /** Takes new rows of asks. The caller holds the scheduler's read lock. */
  public void updateAsks(List<ResourceRequest> requests) {
    recordContainerRequestTime(cluster.events().now());
    for (ResourceRequest request : requests) {
      reportedAsks.note(SchedulerRequestKey.create(request));
      if (request.getNodeLabelExpression() != null) {
        labels.add(request.getNodeLabelExpression());
      }
    }
    askRows.coming(requests);
    updateResourceRequests(requests);
    askRows.dropEmpty(requests);
    cluster.changed(this);
  }

  /**
   * Returns the AM's new containers. The first one ends the delay that its queue's metrics show.
   */
  @Override
  public List<Container> pullNewlyAllocatedContainers() {
    List<Container> pulled = super.pullNewlyAllocatedContainers();
    if (!pulled.isEmpty()) {
      recordContainerAllocationTime(cluster.events().now());
    }
    return pulled;
  }

  @Override
  public void asksCameBack(List<ResourceRequest> rows) {
    askRows.coming(rows);
    if (!isStopped()) {
      for (ResourceRequest row : rows) {
        reportedAsks.changed(SchedulerRequestKey.create(row));
      }
    }
  }

  @Override
  public void updateBlacklist(List<String> additions, List<String> removals) {
    if (isEmpty(additions) && isEmpty(removals)) {
      return;
    }
    if (isWaitingForAMContainer()) {
      synchronized (systemBlacklist) {
        systemBlacklist.addAll(additions == null ? Collections.emptyList() : additions);
        systemBlacklist.removeAll(removals == null ? Collections.emptyList() : removals);
      }
    }
    super.updateBlacklist(additions, removals);
    if (!isWaitingForAMContainer()) {
      blacklisted = AskRows.weight(getBlacklistedNodes());
    }
    reportedAsks.blacklistChanged();
  }

  private static boolean isEmpty(List<String> names) {
    return names == null || names.isEmpty();
  }

  /** The labels of nodes that it has asked for; its queue's default before its first ask. */
  public Set<String> labels() {
    return labels.isEmpty() ? Collections.singleton(loomcardQueue().spec().defaultLabel) : labels;
  }

  /**
   * Drops the hosts and racks of an ask of which nothing is outstanding. Like YARN's own changes it
   * takes the attempt's lock: the rows of a lost container may come back at any time.
   */
  void dropServed(SchedulerRequestKey key) {
    writeLock.lock();
    try {
      if (getOutstandingAsksCount(key) <= 0) {
        HadoopCalls.dropRows(this, key);
      }
    } finally {
      writeLock.unlock();
    }
  }

  /**
   * Records a new container of one ask. The caller holds the scheduler's write lock. It has checked
   * that the ask is outstanding and may be served in this way.
   */
  public RMContainer allocate(NodeType type, LoomcardNode node, SchedulerRequestKey key,
      Container container) {
    writeLock.lock();
    try {
      RMContainerImpl allocated = newRMContainer(container, key, node.getPartition());
      if (key.getContainerToUpdate() != null) {
        cluster.updateBegun(key.getContainerToUpdate(), allocated);
      }
      noteAssigned();
      addToNewlyAllocatedContainers(node, allocated);
      liveContainers.put(container.getId(), allocated);
      HadoopCalls.serve(appSchedulingInfo, type, node, key, allocated);
      noteServed(key);
      askRows.allocated(key);
      attemptResourceUsage.incUsed(node.getPartition(), container.getResource());
      allocated.handle(new RMContainerEvent(container.getId(), RMContainerEventType.START));
      return allocated;
    } finally {
      writeLock.unlock();
    }
  }

  /**
   * Notes when an ask was served, also one that is allocated in full: an AM that asks for one
   * container at a time is served each time. When there are too many entries, those of asks that
   * ended long ago are dropped.
   */
  private void noteServed(SchedulerRequestKey key) {
    served.put(key, cluster.events().now());
    if (served.size() > SERVED_KEPT + 2 * getSchedulerKeys().size()) {
      served.keySet().removeIf(one -> getOutstandingAsksCount(one) <= 0);
    }
  }

  /**
   * Returns when a container of this ask was allocated last, on the engine's clock; below 0: never.
   */
  public long servedMs(SchedulerRequestKey key) {
    return served.getOrDefault(key, -1L);
  }

  /**
   * Records the end of a container; returns false when it had ended before. The list of containers
   * that the AM has not fetched is searched only for one that the AM cannot have fetched. A search
   * at every end is what makes the stock schedulers' bookkeeping expensive.
   */
  public boolean containerCompleted(RMContainer container, ContainerStatus status,
      RMContainerEventType event, String partition) {
    writeLock.lock();
    try {
      if (liveContainers.remove(container.getContainerId()) == null) {
        return false;
      }
      if (container.getState() == RMContainerState.ALLOCATED) {
        newlyAllocatedContainers.remove(container);
      }
      toBePreempted.remove(container.getContainerId());
      container.handle(new RMContainerFinishedEvent(container.getContainerId(), status, event));
      LabelMetrics.release(queue.getMetrics(), partition, getUser(),
          container.getContainer().getResource());
      PreemptionMetrics.ended(queue.getMetrics(), container, status);
      attemptResourceUsage.decUsed(partition, container.getContainer().getResource());
      lastMemoryAggregateAllocationUpdateTime = -1;
      return true;
    } finally {
      writeLock.unlock();
    }
  }

  /** Moves a live container's use to another partition, as its node moved there. */
  void movePartition(RMContainer container, String from, String to) {
    if (liveContainers.containsKey(container.getContainerId())) {
      attemptResourceUsage.decUsed(from, container.getContainer().getResource());
      attemptResourceUsage.incUsed(to, container.getContainer().getResource());
      count(container, queue, from, queue, to);
    }
    application.charges().relabel(container.getContainerId(), to);
  }

  @Override
  public synchronized void addToNewlyDemotedContainers(ContainerId id, RMContainer second) {
    cluster.updateBegun(id, second);
    super.addToNewlyDemotedContainers(id, second);
  }

  /** Notes that the preemption of this container is announced to the AM at its next heartbeat. */
  public void announcePreemption(ContainerId container) {
    toBePreempted.add(container);
  }

  /**
   * Returns the live containers whose preemption has not been announced yet; null if there are
   * none.
   */
  public Set<ContainerId> pullPreemptions() {
    if (toBePreempted.isEmpty()) {
      return null;
    }
    Set<ContainerId> pulled = new HashSet<>(toBePreempted);
    toBePreempted.removeAll(pulled);
    return pulled;
  }

  /** Whether the container of this ask is the AM's own. */
  public boolean isAmAsk() {
    return isWaitingForAMContainer();
  }

  /**
   * The names that the policy must avoid: nodes where AMs failed until the AM runs, then its own
   * blacklist.
   */
  Collection<String> blacklist() {
    if (!isWaitingForAMContainer()) {
      return getBlacklistedNodes();
    }
    synchronized (systemBlacklist) {
      return new ArrayList<>(systemBlacklist);
    }
  }
}
