package org.loomcard.yarn;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.VersionInfo;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.loomcard.yarn.bridge.Bridge;
import org.loomcard.yarn.bridge.ConfigSwapResult;
import org.loomcard.yarn.bridge.RoundDriver;
import org.loomcard.yarn.commit.ContainerResizes;
import org.loomcard.yarn.commit.FifoFallback;
import org.loomcard.yarn.commit.LockedSchedulerState;
import org.loomcard.yarn.commit.PlanCommitter;
import org.loomcard.yarn.commit.Progress;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.config.StateStores;
import org.loomcard.yarn.hadoop.DelegatingScheduler;
import org.loomcard.yarn.metrics.BridgeMetrics;
import org.loomcard.yarn.metrics.ShimMetrics;
import org.loomcard.yarn.queues.Admission;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.queues.QueueTree;
import org.loomcard.yarn.queues.SharedLabels;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;
import org.loomcard.yarn.status.StatusProvider;
import org.loomcard.yarn.status.StatusSource;
import org.loomcard.yarn.web.WebSide;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.Handshake;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The scheduler that yarn-site.xml names. It decides nothing. It keeps YARN's state and sends each
 * change to the policy process; {@link PlanCommitter} commits the plans that come back. No callback
 * waits for Python.
 *
 * <p>Locks: every method that changes the state takes the scheduler's lock. Ends of containers and
 * requests of AMs take it for reading, so that many threads can run. Nodes, applications, attempts
 * and allocations take it for writing. A batch is closed, and a plan committed, under the write
 * lock.
 */
public class LoomcardScheduler extends DelegatingScheduler<LoomcardAttempt, LoomcardNode>
    implements StatusProvider {
  private static final Logger LOG = LoggerFactory.getLogger(LoomcardScheduler.class);
  private final ShimMetrics metrics = new ShimMetrics();
  private EngineClock clock;
  private BridgeConfig config;
  private QueueTree tree;
  private ClusterState cluster;
  private ContainerResizes resizes;
  private RoundDriver rounds;
  /** Null when a test drives the rounds. */
  private BridgeMetrics bridgeMetrics;
  private NodeLifecycle nodes;
  private ContainerLifecycle containers;
  private ApplicationLifecycle applicationLifecycle;
  private AmHeartbeat amHeartbeat;
  private SchedulerEventRouter router;
  private volatile boolean loaded;

  public LoomcardScheduler() {
    super(LoomcardScheduler.class.getName());
  }

  // Init, start and stop.

  @Override
  public void serviceInit(Configuration conf) throws Exception {
    config = new BridgeConfig(conf);
    minimumAllocation = checkedMinimum();
    initMaximumResourceCapability(getMaximumAllocation());
    applications = new ConcurrentHashMap<>();
    clock = EngineClock.forScheduler(ResourceManager.getClusterTimeStamp());
    cluster = new ClusterState(clock, new SharedLabels(rmContext));
    tree = new QueueTree(conf, config.metricsByUser);
    containers = new ContainerLifecycle(this, cluster, clock, () -> rounds.signal());
    PlanCommitter committer =
        new PlanCommitter(cluster, writeLock, containers::preempt, metrics);
    resizes = new ContainerResizes(cluster, committer, writeLock, System::nanoTime);
    FifoFallback fallback = new FifoFallback(cluster, committer, minimumAllocation, writeLock,
        System::nanoTime);
    Progress progress = new Progress(cluster, committer, minimumAllocation, writeLock,
        System::nanoTime, config);
    LockedSchedulerState state = new LockedSchedulerState(cluster, tree, committer, fallback,
        progress, resizes, writeLock, this::isReady);
    rounds = createRounds(state, config, clock);
    bridgeMetrics = bridge() == null ? null : new BridgeMetrics(bridge()::status, metrics);
    nodes = new NodeLifecycle(this, rmContext, cluster, tree, clock, rounds, metrics,
        conf.getBoolean("yarn.scheduler.include-port-in-node-name", false));
    applicationLifecycle = new ApplicationLifecycle(this, rmContext, cluster, tree, rounds,
        state.gate(), state.created());
    amHeartbeat =
        new AmHeartbeat(this, cluster, tree, resizes, rounds, state, config, clock);
    router = new SchedulerEventRouter(nodes, containers, applicationLifecycle);
    super.serviceInit(conf);
    placeApplications(new PlacementRules(tree, () -> isInState(STATE.STARTED))::queueFor);
    initializeMonitors(conf);
    WebSide.register(conf, rmContext, this);
  }

  /** Creates the object that runs the rounds; tests drive the rounds themselves. */
  RoundDriver createRounds(SchedulerState state, BridgeConfig settings, EngineClock engineClock)
      throws IOException {
    String version = LoomcardScheduler.class.getPackage().getImplementationVersion();
    Handshake handshake = new Handshake(settings, engineClock.epochMs(),
        version == null ? "unpackaged" : version, VersionInfo.getVersion(),
        Arrays.asList(Amounts.names()));
    return new Bridge(settings, engineClock, state, Bridge.python(settings), handshake,
        StateStores.of(rmContext, getConfig(), settings));
  }

  private Resource checkedMinimum() {
    Resource least = getMinimumAllocation();
    Resource most = getMaximumAllocation();
    if (Amounts.of(least)[0] <= 0 || Amounts.of(least)[0] > Amounts.of(most)[0]
        || least.getVirtualCores() > most.getVirtualCores()) {
      throw new YarnRuntimeException("yarn.scheduler.minimum-allocation-mb and -vcores (" + least
          + ") must be above 0 MB and not above yarn.scheduler.maximum-allocation-mb and -vcores ("
          + most + ")");
    }
    return least;
  }

  @Override
  public void serviceStart() throws Exception {
    load();
    super.serviceStart();
    rounds.start();
    if (bridgeMetrics != null) {
      bridgeMetrics.register();
    }
  }

  /**
   * Loads the configuration in force, once, when this ResourceManager becomes active. A standby
   * must not load it at initialisation: the active ResourceManager may replace it later.
   */
  private void load() throws IOException {
    synchronized (metrics) { // YARN's own methods may synchronize on the scheduler
      if (!loaded) {
        rounds.load();
        loaded = true;
      }
    }
  }

  @Override
  public void serviceStop() throws Exception {
    WebSide.unregister(getConfig());
    if (bridgeMetrics != null) {
      bridgeMetrics.unregister();
    }
    if (rounds != null) {
      rounds.stop();
    }
    super.serviceStop();
  }

  /**
   * Applies the current policy file, for refreshQueues. AdminService also calls this while the
   * ResourceManager becomes active, before anything runs. Then only the settings are read: the
   * start reads the configuration.
   */
  @Override
  public void reinitialize(Configuration conf, RMContext context) throws IOException {
    reinitializeMonitors(conf);
    if (isInState(STATE.STARTED)) {
      ConfigSwapResult result =
          rounds.refresh(UserGroupInformation.getCurrentUser().getShortUserName());
      if (!result.isApplied()) {
        throw new IOException(result.toString());
      }
    }
  }

  // Events and heartbeats.

  @Override
  public void handle(SchedulerEvent event) {
    if (!loaded) { // attempts are recovered before the scheduler starts, and need the queues
      try {
        load();
      } catch (IOException e) {
        throw new YarnRuntimeException(e.getMessage(), e);
      }
    }
    router.route(event);
  }

  @Override
  public void updateNodeResource(RMNode node, ResourceOption option) {
    nodes.resize(node, option);
  }

  @Override
  protected Allocation heartbeat(ApplicationAttemptId id, List<ResourceRequest> asks,
      List<ContainerId> releases, List<String> blacklistAdditions, List<String> blacklistRemovals,
      ContainerUpdates updates) {
    LoomcardAttempt attempt = getApplicationAttempt(id);
    if (attempt == null || !attempt.getApplicationAttemptId().equals(id)) {
      LOG.error("Heartbeat of attempt {}, which has ended or never was", id);
      return EMPTY_ALLOCATION;
    }
    Allocation allocation = amHeartbeat.allocate(attempt, asks, releases, blacklistAdditions,
        blacklistRemovals, updates);
    return allocation == null ? EMPTY_ALLOCATION : allocation;
  }

  @Override
  protected void completedContainerInternal(RMContainer container, ContainerStatus status,
      RMContainerEventType event) {
    containers.completed(container, status, event);
  }

  @Override
  protected void containerLaunchedOnNode(ContainerId id, SchedulerNode node) {
    super.containerLaunchedOnNode(id, node);
    cluster.containerStarted(id);
  }

  @Override
  public void killContainer(RMContainer container) {
    containers.endByPreemption(container, SchedulerUtils.PREEMPTED_CONTAINER);
  }

  // Queues, access and priorities.

  @Override
  public QueueInfo getQueueInfo(String name, boolean includeChildQueues, boolean recursive)
      throws IOException {
    return tree.require(name).getQueueInfo(includeChildQueues, recursive);
  }

  @Override
  public List<QueueUserACLInfo> getQueueUserAclInfo() {
    try {
      return tree.root().getQueueUserAclInfo(UserGroupInformation.getCurrentUser());
    } catch (IOException e) {
      LOG.warn("The caller that asks for its access to queues is unknown", e);
      return Collections.emptyList();
    }
  }

  @Override
  public boolean checkAccess(UserGroupInformation caller, QueueACL acl, String name) {
    LoomcardQueue queue = tree.find(name);
    return queue != null && queue.hasAccess(acl, caller);
  }

  @Override
  public Resource getMaximumResourceCapability(String queue) {
    return Admission.largest(tree.find(queue), getMaximumResourceCapability());
  }

  @Override
  protected long lifetime(String queue, long asked) {
    return Admission.lifetime(tree.specOf(queue), asked);
  }

  /**
   * Returns the latest attempts of the applications in this queue or below it; null for an unknown
   * queue.
   */
  @Override
  public List<ApplicationAttemptId> getAppsInQueue(String name) {
    LoomcardQueue queue = tree.find(name);
    return queue == null ? null : applicationLifecycle.attemptsWithin(queue);
  }

  @Override
  public void preValidateMoveApplication(ApplicationId id, String target) throws YarnException {
    applicationLifecycle.checkMove(id, target);
  }

  @Override
  public String moveApplication(ApplicationId id, String target) throws YarnException {
    return applicationLifecycle.move(id, target);
  }

  @Override
  public Priority checkAndGetApplicationPriority(Priority asked, UserGroupInformation user,
      String queue, ApplicationId id) {
    return Admission.priority(tree.specOf(queue), asked, getMaxClusterLevelAppPriority());
  }

  @Override
  protected Priority changePriority(Priority asked, ApplicationId id, UserGroupInformation user,
      PriorityStore store) throws YarnException {
    return applicationLifecycle.changePriority(asked, id, user, store);
  }

  @Override
  public QueueMetrics getRootQueueMetrics() {
    return tree.rootMetrics();
  }

  // What pages, other parts and tests read.

  /** The queues of the policy configuration applied last. */
  public QueueTree queues() {
    return tree;
  }

  /** The bridge to the policy process; null when a test drives the rounds. */
  public Bridge bridge() {
    return rounds instanceof Bridge ? (Bridge) rounds : null;
  }

  @Override
  public StatusSource status() {
    return new SchedulerStatus(this, bridge(), cluster, tree, metrics, clock, rmContext, config);
  }

  /** The zero of the engine's clock, in milliseconds since 1970. */
  public long startedAtMs() {
    return clock.epochMs();
  }

  /** All nodes, applications and containers that the policy knows. */
  public ClusterState cluster() {
    return cluster;
  }

  /** Changes of running containers that AMs requested. */
  public ContainerResizes resizes() {
    return resizes;
  }

  /** What was allocated and refused since the start. */
  public ShimMetrics metrics() {
    return metrics;
  }
}
