package org.loomcard.yarn.hadoop;

import java.io.IOException;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.SettableFuture;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NMToken;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.exceptions.SchedulerInvalidResoureRequestException;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.placement.PlacementManager;
import org.apache.hadoop.yarn.server.resourcemanager.placement.PlacementRule;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.records.ApplicationStateData;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AppSchedulingInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ContainerRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/**
 * What differs between Hadoop lines, and nothing else: signatures that changed, and accessors that
 * were renamed. This one is for Hadoop 3, whose releases differ in {@link HadoopRelease}; another
 * line replaces both files and keeps the rest.
 */
public abstract class HadoopCompat<A extends SchedulerApplicationAttempt, N extends SchedulerNode>
    extends AbstractYarnScheduler<A, N> {
  protected HadoopCompat(String name) {
    super(name);
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

  @Override
  public final Priority updateApplicationPriority(Priority priority, ApplicationId application,
      SettableFuture<Object> stored, UserGroupInformation user) throws YarnException {
    return changePriority(priority, application, user, new PriorityStore(stored));
  }

  /** Reads what the base class keeps of the settings again. */
  protected final void rereadSettings(Configuration conf) throws IOException {
    super.reinitialize(conf, rmContext);
  }

  /**
   * Has YARN write down a new application's queue by its path, whatever the user called it: a short
   * name may mean another queue, or none, when the application is recovered.
   *
   * @param path the path of the queue that a name means; null for none
   */
  protected final void placeApplications(UnaryOperator<String> path) {
    PlacementManager placement = rmContext.getQueuePlacementManager();
    if (placement != null) {
      placement.updateRules(Collections.<PlacementRule>singletonList(new QueuePathRule(path)));
    }
  }

  /** Starts what {@code yarn.resourcemanager.scheduler.monitor.enable} asks for. */
  protected final void initializeMonitors(Configuration conf) throws YarnException {
    schedulingMonitorManager.initialize(rmContext, conf);
  }

  /** Rounds asks of an application in {@code queue} up to what the cluster hands out. */
  public final void normalize(List<ResourceRequest> asks, String queue) {
    normalizeResourceRequests(asks, queue);
  }

  /** Seconds that an application of {@code queue} may live that asks for {@code asked}. */
  protected abstract long lifetime(String queue, long asked);

  @Override
  public final long checkAndGetApplicationLifetime(String queue, long asked) {
    return lifetime(queue, asked);
  }

  @Override
  public final long getMaximumApplicationLifetime(String queue) {
    long most = lifetime(queue, Long.MAX_VALUE);
    return most == Long.MAX_VALUE ? -1 : most;
  }

  public static <A extends SchedulerApplicationAttempt> SchedulerApplication<A> newApplication(
      Queue queue, String user, Priority priority, boolean unmanaged) {
    return HadoopRelease.newApplication(queue, user, priority, unmanaged);
  }

  public static void countSubmission(QueueMetrics metrics, String user, boolean unmanaged) {
    HadoopRelease.countSubmission(metrics, user, unmanaged);
  }

  public static void countAttempt(QueueMetrics metrics, String user, boolean unmanaged) {
    HadoopRelease.countAttempt(metrics, user, unmanaged);
  }

  /** The amounts of a container that was taken back, of types that Hadoop does not know itself. */
  static void countPreempted(QueueMetrics metrics, Resource size) {
    metrics.updatePreemptedForCustomResources(size);
  }

  /** The tokens come last: pulling containers of any kind is what makes them. */
  public static Allocation allocation(Attempt attempt, List<Container> containers,
      Resource headroom, List<Container> increased, List<Container> decreased,
      List<Container> promoted, List<Container> demoted) {
    List<Container> previous = attempt.pullPreviousAttemptContainers();
    List<NMToken> tokens = attempt.pullUpdatedNMTokens();
    return new Allocation(containers, headroom, attempt.pullPreemptions(), null, null, tokens,
        increased, decreased, promoted, demoted, previous, null);
  }

  /** Takes one container off an ask and keeps with it what is needed to ask again. */
  public static void serve(AppSchedulingInfo asks, NodeType type, SchedulerNode node,
      SchedulerRequestKey key,
      RMContainerImpl container) {
    container.setContainerRequest(asks.allocate(type, node, key, container));
  }

  /** What the AM that sent a heartbeat gets, as a YarnException that says {@code message}. */
  public static RuntimeException refusedAsks(String message) {
    return new SchedulerInvalidResoureRequestException(message);
  }

  /** What was asked for with this container is not to be asked for again when it ends. */
  public static void clearRequest(RMContainer container) {
    ((RMContainerImpl) container).setContainerRequest(null);
  }

  /**
   * The rows of an ask by host, rack and {@code *}; empty when it is gone. Live: read under the
   * write lock.
   */
  public static Map<String, ResourceRequest> rows(SchedulerApplicationAttempt attempt,
      SchedulerRequestKey key) {
    AppPlacementAllocator<SchedulerNode> allocator = attempt.getAppPlacementAllocator(key);
    return allocator == null ? Collections.<String, ResourceRequest>emptyMap()
        : allocator.getResourceRequests();
  }

  /** Drops whatever YARN keeps of an ask; nothing of it is outstanding. */
  public static void dropRows(SchedulerApplicationAttempt attempt, SchedulerRequestKey key) {
    attempt.getAppSchedulingInfo().removeAppPlacement(key);
  }

  /**
   * What the submission says to the scheduler. YARN's own {@code getApplicationSchedulingEnvs} adds
   * the AM's whole environment, secrets included, which must not reach a journal.
   */
  public static Map<String, String> schedulingProperties(RMApp app) {
    ApplicationSubmissionContext context = app.getApplicationSubmissionContext();
    Map<String, String> properties =
        context == null ? null : context.getApplicationSchedulingPropertiesMap();
    return properties == null ? Collections.<String, String>emptyMap() : properties;
  }

  /**
   * Nodes have other labels now: YARN's tracker looks for a node that is lost under the label that
   * it has then, and fails where it did not hear of it.
   */
  public final void updateTrackedLabels() {
    Map<String, Set<NodeId>> nodes = new HashMap<>();
    HadoopRelease.trackedLabels(nodeTracker, rmContext)
        .forEach(label -> nodes.put(label, new HashSet<>()));
    for (N node : nodeTracker.getAllNodes()) {
      nodes.computeIfAbsent(node.getPartition(), label -> new HashSet<>()).add(node.getNodeID());
    }
    nodes.forEach(nodeTracker::updateNodesPerPartition);
  }

  /** The line in the audit log that operators look for. */
  public static void audit(String operation, SchedulerApplicationAttempt attempt,
      Container container) {
    RMAuditLogger.logSuccess(attempt.getUser(), operation, "SchedulerApp",
        attempt.getApplicationId(),
        container.getId(), container.getResource(), attempt.getQueueName(), null);
  }

  /** Writes the path of the queue that an application moved to, in place of what it was called. */
  public static void storeQueue(RMContext context, RMApp app, String path) {
    app.getApplicationSubmissionContext().setQueue(path);
    new PriorityStore(SettableFuture.create()).write(context, app);
  }

  /** Where a changed priority is written down, and the admin call that waits for it. */
  public static final class PriorityStore {
    private final SettableFuture<Object> stored;

    private PriorityStore(SettableFuture<Object> stored) {
      this.stored = stored;
    }

    /** Nothing changed. */
    public void skip() {
      stored.set(null);
    }

    /** Writes the application's submission context to the state store. */
    public void write(RMContext context, RMApp app) {
      ApplicationStateData state = ApplicationStateData.newInstance(app.getSubmitTime(),
          app.getStartTime(), app.getApplicationSubmissionContext(), app.getUser(),
          app.getRealUser(), app.getCallerContext());
      state.setApplicationTimeouts(app.getApplicationTimeouts());
      state.setLaunchTime(app.getLaunchTime());
      context.getStateStore().updateApplicationStateSynchronously(state, false, stored);
    }
  }

  /** Names queues by their paths. */
  private static final class QueuePathRule extends PlacementRule {
    private final UnaryOperator<String> path;

    private QueuePathRule(UnaryOperator<String> path) {
      this.path = path;
    }

    @Override
    public boolean initialize(ResourceScheduler scheduler) {
      return true;
    }

    @Override
    public ApplicationPlacementContext getPlacementForApp(ApplicationSubmissionContext asked,
        String user) {
      String found = path.apply(asked.getQueue());
      return found == null ? null : new ApplicationPlacementContext(found);
    }
  }

  /** An attempt whose asks and containers come back after a restart of the ResourceManager. */
  public abstract static class Attempt extends HadoopRelease.Attempt {
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
      super.recoverResourceRequestsForContainer(request);
      asksCameBack(request.getResourceRequests());
    }
  }
}
