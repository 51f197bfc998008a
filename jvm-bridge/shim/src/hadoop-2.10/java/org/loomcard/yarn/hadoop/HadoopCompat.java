package org.loomcard.yarn.hadoop;

import com.google.common.util.concurrent.SettableFuture;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NMToken;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.records.ApplicationStateData;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AppSchedulingInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.SchedulingPlacementSet;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/** What differs between Hadoop lines, and nothing else. This one is for 2.10. */
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
      List<ContainerId> releases, List<String> blacklistAdditions, List<String> blacklistRemovals,
      ContainerUpdates updates) {
    return heartbeat(attempt, asks, releases, blacklistAdditions, blacklistRemovals, updates);
  }

  @Override
  public final Priority updateApplicationPriority(Priority priority, ApplicationId application,
      SettableFuture<Object> stored, UserGroupInformation user) throws YarnException {
    return changePriority(priority, application, user, new PriorityStore(stored));
  }

  /** Nothing: in this line the base class reads its settings once. */
  protected final void rereadSettings(Configuration conf) {
  }

  /**
   * Nothing: placement rules of this line are CapacityScheduler's alone, so that an application is
   * written down with the name that its user gave.
   */
  protected final void placeApplications(UnaryOperator<String> path) {
  }

  /** Nothing: in this line the ResourceManager starts the monitors itself. */
  protected final void initializeMonitors(Configuration conf) {
  }

  /** Rounds asks of an application in {@code queue} up to what the cluster hands out. */
  public final void normalize(List<ResourceRequest> asks, String queue) {
    normalizeRequests(asks);
  }

  /** Seconds that an application of {@code queue} may live that asks for {@code asked}. */
  protected abstract long lifetime(String queue, long asked);

  @Override
  public final long checkAndGetApplicationLifetime(String queue, long asked) {
    return lifetime(queue, asked);
  }

  /** In seconds; -1 for ever. */
  public final long getMaximumApplicationLifetime(String queue) {
    long most = lifetime(queue, Long.MAX_VALUE);
    return most == Long.MAX_VALUE ? -1 : most;
  }

  public static <A extends SchedulerApplicationAttempt> SchedulerApplication<A> newApplication(
      Queue queue, String user, Priority priority, boolean unmanaged) {
    return new SchedulerApplication<>(queue, user, priority);
  }

  public static void countSubmission(QueueMetrics metrics, String user, boolean unmanaged) {
    metrics.submitApp(user);
  }

  /** The amounts of a container that was taken back, of types that Hadoop does not know itself. */
  static void countPreempted(QueueMetrics metrics, Resource size) {
    // Hadoop 2.10 does not count them.
  }

  public static void countAttempt(QueueMetrics metrics, String user, boolean unmanaged) {
    metrics.submitAppAttempt(user);
  }

  /** Containers of the attempt before reach the AM when it registers; there is no other way. */
  public static Allocation allocation(Attempt attempt, List<Container> containers,
      Resource headroom, List<Container> increased, List<Container> decreased,
      List<Container> promoted, List<Container> demoted) {
    List<NMToken> tokens = attempt.pullUpdatedNMTokens();
    return new Allocation(containers, headroom, attempt.pullPreemptions(), null, null, tokens,
        increased, decreased, promoted, demoted);
  }

  /** Takes one container off an ask and keeps with it what is needed to ask again. */
  public static void serve(AppSchedulingInfo asks, NodeType type, SchedulerNode node,
      SchedulerRequestKey key, RMContainerImpl container) {
    container.setResourceRequests(asks.allocate(type, node, key, container));
  }

  /** What the AM that sent a heartbeat gets, as a remote exception that says {@code message}. */
  public static RuntimeException refusedAsks(String message) {
    return new YarnRuntimeException(message);
  }

  /** What was asked for with this container is not to be asked for again when it ends. */
  public static void clearRequest(RMContainer container) {
    ((RMContainerImpl) container).setResourceRequests(null);
  }

  /**
   * The rows of an ask by host, rack and {@code *}; empty when it is gone. Live: read under the
   * write lock.
   */
  public static Map<String, ResourceRequest> rows(SchedulerApplicationAttempt attempt,
      SchedulerRequestKey key) {
    SchedulingPlacementSet<SchedulerNode> places =
        attempt.getAppSchedulingInfo().getSchedulingPlacementSet(key);
    return places == null ? Collections.<String, ResourceRequest>emptyMap()
        : places.getResourceRequests();
  }

  /** Drops whatever YARN keeps of an ask; nothing of it is outstanding. */
  public static void dropRows(SchedulerApplicationAttempt attempt, SchedulerRequestKey key) {
    attempt.getAppSchedulingInfo().removePlacementSets(key);
  }

  /** None: this line knows no scheduling properties. */
  public static Map<String, String> schedulingProperties(RMApp app) {
    return Collections.emptyMap();
  }

  /** Nodes have other labels now: here YARN's tracker does not hold nodes by label. */
  public final void updateTrackedLabels() {
  }

  /** The line in the audit log that operators look for. */
  public static void audit(String operation, SchedulerApplicationAttempt attempt,
      Container container) {
    RMAuditLogger.logSuccess(attempt.getUser(), operation, "SchedulerApp",
        attempt.getApplicationId(), container.getId(), container.getResource(),
        attempt.getQueueName(), null);
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

    /** A live container was recovered. */
    public abstract void recovered(SchedulerNode node, RMContainer container);

    @Override
    public final void recoverResourceRequestsForContainer(List<ResourceRequest> requests) {
      super.recoverResourceRequestsForContainer(requests);
      asksCameBack(requests);
    }

    @Override
    public final void recoverContainer(SchedulerNode node, RMContainer container) {
      super.recoverContainer(node, container);
      if (container.getState() != RMContainerState.COMPLETED) {
        recovered(node, container);
      }
    }
  }
}
