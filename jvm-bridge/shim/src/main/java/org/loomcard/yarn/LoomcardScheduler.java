package org.loomcard.yarn;

import java.io.IOException;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.proto.YarnServiceProtos.SchedulerResourceTypes;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger.AuditConstants;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore.RMState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.util.resource.DominantResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.loomcard.yarn.amounts.Amounts;
import org.loomcard.yarn.amounts.SharedLabels;
import org.loomcard.yarn.bridge.Bridge;
import org.loomcard.yarn.commit.ContainerResizes;
import org.loomcard.yarn.commit.FifoFallback;
import org.loomcard.yarn.commit.LockedSchedulerState;
import org.loomcard.yarn.commit.PlanCommitter;
import org.loomcard.yarn.hadoop.HadoopCompat;
import org.loomcard.yarn.metrics.ShimMetrics;
import org.loomcard.yarn.policyconfig.BridgeConfig;
import org.loomcard.yarn.queues.Headroom;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.queues.QueueAnswers;
import org.loomcard.yarn.queues.QueueTree;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.ContainerEntry;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;
import org.loomcard.yarn.statestore.StateKeepers;
import org.loomcard.yarn.status.StatusHolder;
import org.loomcard.yarn.status.StatusSource;
import org.loomcard.yarn.wire.EngineClock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The scheduler named in yarn-site.xml. It keeps YARN's books and decides nothing: what happens
 * becomes news for the policy process, and what that decides is carried out by {@link
 * PlanCommitter}. No callback waits for Python.
 *
 * <p>Locks: whatever changes the books holds the scheduler's lock for reading (what ends or asks:
 * many threads) or for writing (what comes, goes or is granted); a batch is closed and a plan
 * carried out under the write lock.
 */
public class LoomcardScheduler extends HadoopCompat implements StatusHolder {
  private static final Logger LOG = LoggerFactory.getLogger(LoomcardScheduler.class);
  private final ResourceCalculator calculator = new DominantResourceCalculator();
  private final SchedulerEventRouter router = new SchedulerEventRouter(this);
  private final ShimMetrics metrics = new ShimMetrics();
  private EngineClock clock;
  private BridgeConfig config;
  private QueueTree tree;
  private QueueAnswers answers;
  private ClusterState ledger;
  ContainerResizes resizes;
  private LockedSchedulerState books;
  private Rounds rounds;
  private FirstLoad firstLoad;
  private ApplicationLifecycle desk;
  private NodeCapacities capacities;
  private boolean usePortForNodeName;
  private volatile boolean wasReady;
  private volatile boolean seenInline;

  public LoomcardScheduler() {
    super(LoomcardScheduler.class.getName());
  }

  // The service's life.

  @Override
  public void serviceInit(Configuration conf) throws Exception {
    config = new BridgeConfig(conf);
    minimumAllocation = checkedMinimum();
    initMaximumResourceCapability(getMaximumAllocation());
    usePortForNodeName = conf.getBoolean("yarn.scheduler.include-port-in-node-name", false);
    applications = new ConcurrentHashMap<>();
    clock = EngineClock.ofALife(ResourceManager.getClusterTimeStamp());
    ledger = new ClusterState(clock, new SharedLabels(rmContext));
    tree = new QueueTree(conf);
    answers = new QueueAnswers(tree);
    capacities = new NodeCapacities(tree);
    PlanCommitter committer = new PlanCommitter(ledger, writeLock, this::preempt, metrics);
    resizes = new ContainerResizes(ledger, committer, writeLock, System::nanoTime);
    FifoFallback fallback = new FifoFallback(ledger, committer, minimumAllocation, writeLock,
        System::nanoTime);
    books = new LockedSchedulerState(ledger, tree, committer, fallback, resizes, writeLock,
        this::isReady);
    rounds = createRounds(books, config, clock);
    firstLoad = new FirstLoad(rounds);
    desk = new ApplicationLifecycle(this, rmContext, ledger, tree, writeLock, rounds, books.gate());
    super.serviceInit(conf);
    placeApplications(tree::pathOf);
    initializeMonitors(conf);
  }

  /** Makes what runs the rounds; tests put something simpler in its place. */
  Rounds createRounds(SchedulerState roundBooks, BridgeConfig settings, EngineClock engineClock)
      throws IOException {
    return BridgeRounds.of(settings, engineClock, roundBooks,
        StateKeepers.of(rmContext, getConfig(), settings), metrics);
  }

  private Resource checkedMinimum() {
    Resource least = getMinimumAllocation();
    Resource most = getMaximumAllocation();
    if (least.getMemorySize() <= 0 || least.getMemorySize() > most.getMemorySize()
        || least.getVirtualCores() > most.getVirtualCores()) {
      throw new YarnRuntimeException("yarn.scheduler.minimum-allocation-mb and -vcores (" + least
          + ") must be above 0 MB and not above yarn.scheduler.maximum-allocation-mb and -vcores ("
          + most + ")");
    }
    return least;
  }

  @Override
  public void serviceStart() throws Exception {
    firstLoad.run();
    super.serviceStart();
    rounds.start();
  }

  @Override
  public void serviceStop() throws Exception {
    if (rounds != null) {
      rounds.stop();
    }
    super.serviceStop();
  }

  @Override
  public void setRMContext(RMContext context) {
    rmContext = context;
  }

  /**
   * What refreshQueues calls: applies the policy file as it is now. AdminService calls it on its
   * way to the active state too, before anything runs; what governs is read at the start then.
   */
  @Override
  public void reinitialize(Configuration conf, RMContext context) throws IOException {
    rereadSettings(conf);
    if (isInState(STATE.STARTED)) {
      rounds.refresh();
    }
  }

  /**
   * Nothing: applications, attempts and containers come back as events, the set-up from its own
   * store.
   */
  @Override
  public void recover(RMState state) {
  }

  /**
   * Whether containers may be granted; not in the first seconds after a recovery, until the nodes
   * have reported.
   */
  private boolean isReady() {
    return !rmContext.isWorkPreservingRecoveryEnabled()
        || rmContext.isSchedulerReadyForAllocatingContainers();
  }

  @Override
  public void handle(SchedulerEvent event) {
    firstLoad.beforeEvent();
    router.route(event);
  }

  // Nodes.

  void addNode(RMNode rmNode, List<NMContainerStatus> reports) {
    writeLock.lock();
    try {
      LoomcardNode node = ledger.addNode(rmNode, usePortForNodeName);
      nodeTracker.addNode(node);
      if (rmContext.getNodeLabelManager() != null) {
        rmContext.getNodeLabelManager().activateNode(node.getNodeID(), node.getTotalResource());
      }
      capacities.joined(node, getClusterResource());
      recoverContainersOnNode(reports, rmNode);
      LOG.info("Added node {}; the cluster has {}", node.getNodeID(), getClusterResource());
    } finally {
      writeLock.unlock();
    }
    rounds.signal();
  }

  void removeNode(RMNode rmNode) {
    writeLock.lock();
    try {
      LoomcardNode node = nodeTracker.getNode(rmNode.getNodeID());
      if (node == null) {
        return;
      }
      if (rmContext.getNodeLabelManager() != null) {
        rmContext.getNodeLabelManager().deactivateNode(node.getNodeID());
      }
      for (RMContainer container : node.getCopiedListOfRunningContainers()) {
        completedContainer(container, SchedulerUtils.createAbnormalContainerStatus(container
            .getContainerId(),
            SchedulerUtils.LOST_CONTAINER), RMContainerEventType.KILL);
        node.releaseContainer(container.getContainerId(), true);
      }
      nodeTracker.removeNode(node.getNodeID());
      ledger.removeNode(node, ContainerEndKind.of(rmNode.getState()));
      capacities.left(node, getClusterResource());
      LOG.info("Removed node {}; the cluster has {}", node.getNodeID(), getClusterResource());
    } finally {
      writeLock.unlock();
    }
    rounds.signal();
  }

  /** A node's heartbeat; one without news leaves no record and starts no round. */
  void heartbeat(RMNode rmNode) {
    if (!seenInline) { // the snapshot to a process that is new would hide this heartbeat from it
      awaitQuiet();
      seenInline = true;
    }
    metrics.nodeUpdated();
    setLastNodeUpdateTime(Time.now());
    readLock.lock();
    try {
      nodeUpdate(rmNode);
      LoomcardNode node = nodeTracker.getNode(rmNode.getNodeID());
      if (node != null) {
        for (RMContainer container : node.takeOverdue(clock.nowMs())) {
          endByPreemption(container, SchedulerUtils.PREEMPTED_CONTAINER);
        }
        if (tree.setup().needsHeartbeats()) {
          ledger.heartbeat(node);
        }
        node.heartbeatDone(clock.nowMs());
      }
    } finally {
      readLock.unlock();
    }
    tree.refreshMetrics(clock.nowMs());
    boolean ready = isReady();
    if (!ledger.news().isEmpty() || ready && !wasReady) {
      wasReady = ready;
      rounds.signal();
    }
    awaitQuiet();
  }

  /** For YARN's own tests, which expect decisions inline. */
  private void awaitQuiet() {
    if (config.inlineWaitMs > 0) {
      try {
        rounds.awaitQuiet(config.inlineWaitMs);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public void updateNodeResource(RMNode rmNode, ResourceOption option) {
    writeLock.lock();
    try {
      super.updateNodeResource(rmNode, option);
      LoomcardNode node = nodeTracker.getNode(rmNode.getNodeID());
      if (node != null) {
        ledger.nodeResized(node);
        capacities.joined(node, getClusterResource());
      }
    } finally {
      writeLock.unlock();
    }
    rounds.signal();
  }

  void relabelNodes(Map<NodeId, Set<String>> labels) {
    writeLock.lock();
    try {
      labels.forEach((id, names) -> {
        LoomcardNode node = nodeTracker.getNode(id);
        if (node != null) {
          ledger.relabelNode(node, names);
          capacities.joined(node, getClusterResource());
        }
      });
      followLabels();
    } finally {
      writeLock.unlock();
    }
    rounds.signal();
  }

  // The AM's heartbeat.

  @Override
  protected Allocation heartbeat(ApplicationAttemptId id, List<ResourceRequest> asks,
      List<ContainerId> releases,
      List<String> blacklistAdditions, List<String> blacklistRemovals, ContainerUpdates updates) {
    LoomcardAttempt attempt = getApplicationAttempt(id);
    if (attempt == null || !attempt.getApplicationAttemptId().equals(id)) {
      LOG.error("Heartbeat of attempt {}, which has ended or never was", id);
      return EMPTY_ALLOCATION;
    }
    AskLimits.check(attempt, asks, config);
    normalize(asks, attempt.loomcardQueue().path());
    // Who asks for its AM's container must not be given it by the same call: RMAppAttempt drops
    // what comes before it has been scheduled, and the AM would never be launched.
    boolean asksForMaster = attempt.isWaitingForAMContainer() && !asks.isEmpty();
    readLock.lock();
    try {
      if (attempt.isStopped()) {
        LOG.info("Heartbeat of attempt {}, which has ended", id);
        return EMPTY_ALLOCATION;
      }
      if (!attempt.isWaitingForAMContainer()) {
        ledger.attemptCalled(attempt);
      }
      if (updates != null) {
        resizes.replaced(attempt, updates);
        handleContainerUpdates(attempt, updates);
        resizes.asked(attempt, updates);
      }
      releaseContainers(releases, attempt);
      if (!asks.isEmpty()) {
        attempt.updateResourceRequests(asks);
      }
      attempt.updateBlacklist(blacklistAdditions, blacklistRemovals);
    } finally {
      readLock.unlock();
    }
    if (!asks.isEmpty()) {
      rounds.signalDemand();
    } else if (books.hasNews()) {
      rounds.signal();
    }
    return answer(attempt, asksForMaster
        ? Collections.emptyList() : attempt.pullNewlyAllocatedContainers());
  }

  private Allocation answer(LoomcardAttempt attempt, List<Container> containers) {
    Resource headroom = headroom(attempt);
    attempt.setHeadroom(headroom);
    attempt.setApplicationHeadroomForMetrics(headroom);
    readLock.lock();
    try {
      // Decreases first: pulling an increase makes YARN forget a decrease of the same container,
      // and every later pull of that one would fail.
      List<Container> decreased = attempt.pullNewlyDecreasedContainers();
      List<Container> demoted = attempt.pullNewlyDemotedContainers();
      long now = clock.nowMs();
      containers.forEach(container -> ledger.containerFetched(container.getId(), now));
      resizes.shrunk(attempt, decreased, demoted);
      List<Container> increased = attempt.pullNewlyIncreasedContainers();
      List<Container> promoted = attempt.pullNewlyPromotedContainers();
      resizes.fetched(attempt, increased, promoted);
      return answer(attempt, containers, headroom, increased, decreased, promoted, demoted);
    } finally {
      readLock.unlock();
    }
  }

  /**
   * What is left to this application: under its queue's maxima and its user's limit, and free on
   * the cluster.
   */
  private Resource headroom(LoomcardAttempt attempt) {
    long[] told = attempt.application().toldHeadroom();
    return Amounts.toResource(told != null ? told : Headroom.of(attempt.loomcardQueue(),
        attempt.getUser(), attempt.labels(), tree.partitions()));
  }

  // Containers.

  /** Ends a container in any way YARN knows. */
  void endContainer(RMContainer container, ContainerStatus status, RMContainerEventType event) {
    readLock.lock();
    try {
      completedContainer(container, status, event);
    } finally {
      readLock.unlock();
    }
    rounds.signal();
  }

  /** Comings, ends and moves of applications and attempts. */
  ApplicationLifecycle desk() {
    return desk;
  }

  void rollBackIncrease(ContainerId id) {
    readLock.lock();
    try {
      rollbackContainerUpdate(id);
    } finally {
      readLock.unlock();
    }
  }

  @Override
  protected void completedContainerInternal(RMContainer container, ContainerStatus status,
      RMContainerEventType event) {
    readLock.lock();
    try {
      ContainerId id = container.getContainerId();
      LoomcardAttempt attempt = getCurrentAttemptForContainer(id);
      if (attempt == null) {
        LOG.info("Container {} of an unknown application ended: {}", id, event);
        return;
      }
      LoomcardNode node = nodeTracker.getNode(container.getContainer().getNodeId());
      String partition = node == null ? "" : node.getPartition();
      if (attempt.containerCompleted(container, status, event, partition)) {
        attempt.application().charges().end(id);
        audit(AuditConstants.RELEASE_CONTAINER, attempt, container.getContainer());
        ledger.containerEnded(id, ContainerEndKind.of(status, event), status.getExitStatus());
        for (RMContainer update : ledger.updatesOf(id)) {
          HadoopCompat.withdraw(update);
          completedContainer(update, status, RMContainerEventType.KILL);
        }
      }
      if (node != null) {
        node.releaseContainer(id, false);
      }
      LOG.debug("{} ended: {}", id, event);
    } finally {
      readLock.unlock();
    }
  }

  @Override
  protected void containerLaunchedOnNode(ContainerId id, SchedulerNode node) {
    super.containerLaunchedOnNode(id, node);
    ledger.containerStarted(id);
  }

  /**
   * Meant for tests that take an AM's container away. Whatever this scheduler takes back ends as
   * preempted, and so does this.
   */
  @Override
  public void killContainer(RMContainer container) {
    endByPreemption(container, SchedulerUtils.PREEMPTED_CONTAINER);
  }

  private void preempt(ContainerEntry container, long graceMs, String reason) {
    if (graceMs <= 0) {
      endByPreemption(container.container(), reason);
    } else {
      container.announcePreemption(clock.nowMs());
      announcePreemption(container.container());
      container.node().preempt(container.container(), clock.nowMs() + graceMs);
    }
  }

  /** The AM is told at its next heartbeat. */
  void announcePreemption(RMContainer container) {
    LoomcardAttempt attempt = getCurrentAttemptForContainer(container.getContainerId());
    if (attempt != null) {
      attempt.announcePreemption(container.getContainerId());
    }
  }

  void endByPreemption(RMContainer container, String reason) {
    endContainer(container, SchedulerUtils.createPreemptedContainerStatus(container
        .getContainerId(), reason),
        RMContainerEventType.KILL);
  }

  // Queues, rights and priorities.

  @Override
  public QueueInfo getQueueInfo(String name, boolean includeChildQueues, boolean recursive)
      throws IOException {
    return answers.info(name, includeChildQueues, recursive);
  }

  @Override
  public List<QueueUserACLInfo> getQueueUserAclInfo() {
    return answers.rightsOfCaller();
  }

  /** What the lists of the queue say; YARN lets its administrators change whatever runs. */
  @Override
  public boolean checkAccess(UserGroupInformation caller, QueueACL acl, String name) {
    return answers.hasAccess(caller, acl, name);
  }

  @Override
  public Resource getMaximumResourceCapability(String queue) {
    return answers.largest(queue, getMaximumResourceCapability());
  }

  @Override
  protected long lifetime(String queue, long asked) {
    return answers.lifetime(queue, asked);
  }

  /** Latest attempts of the applications in this queue or below it; null for an unknown queue. */
  @Override
  public List<ApplicationAttemptId> getAppsInQueue(String name) {
    LoomcardQueue queue = tree.find(name);
    return queue == null ? null : desk.attemptsWithin(queue);
  }

  @Override
  public void preValidateMoveApplication(ApplicationId id, String target) throws YarnException {
    desk.checkMove(id, target);
  }

  @Override
  public String moveApplication(ApplicationId id, String target) throws YarnException {
    return desk.move(id, target);
  }

  @Override
  public Priority checkAndGetApplicationPriority(Priority asked, UserGroupInformation user,
      String queue,
      ApplicationId id) {
    int most = getMaxClusterLevelAppPriority().getPriority();
    return Priority.newInstance(asked == null ? 0 : Math.min(most, asked.getPriority()));
  }

  @Override
  protected Priority changePriority(Priority asked, ApplicationId id, UserGroupInformation user,
      PriorityStore store) throws YarnException {
    return desk.changePriority(asked, id, user, store);
  }

  // What the ResourceManager and the pages ask for.

  @Override
  public ResourceCalculator getResourceCalculator() {
    return calculator;
  }

  @Override
  public EnumSet<SchedulerResourceTypes> getSchedulingResourceTypes() {
    return EnumSet.of(SchedulerResourceTypes.MEMORY, SchedulerResourceTypes.CPU);
  }

  @Override
  public int getNumClusterNodes() {
    return nodeTracker.nodeCount();
  }

  @Override
  public QueueMetrics getRootQueueMetrics() {
    return answers.rootMetrics(getConfig());
  }

  /** The queues of the set-up applied last. */
  public QueueTree queues() {
    return tree;
  }

  /** The bridge to the policy process; null where a test runs the rounds itself. */
  public Bridge bridge() {
    return rounds instanceof BridgeRounds ? ((BridgeRounds) rounds).bridge() : null;
  }

  @Override
  public StatusSource status() {
    return new SchedulerStatus(this, rmContext, config);
  }

  /** The zero of the engine's clock, in milliseconds since 1970. */
  long startedAtMs() {
    return clock.epochMs();
  }

  /** Numbers and news of all that the policy knows. */
  public ClusterState ledger() {
    return ledger;
  }

  /** What was granted and refused since the start. */
  public ShimMetrics metrics() {
    return metrics;
  }
}
