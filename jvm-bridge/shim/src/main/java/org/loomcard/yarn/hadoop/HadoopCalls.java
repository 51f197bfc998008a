package org.loomcard.yarn.hadoop;

import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NMToken;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.records.ApplicationStateData;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AppSchedulingInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ClusterNodeTracker;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/**
 * What the scheduler calls in YARN, where that differs between Hadoop 2.10 and 3.1 to 3.5. Each
 * call is a {@link Form}.
 */
public final class HadoopCalls {
  private static final Set<String> MISSING = new TreeSet<>();
  private static final String SCHEDULER =
      "org.apache.hadoop.yarn.server.resourcemanager.scheduler.";
  private static final String EXCEPTIONS = "org.apache.hadoop.yarn.exceptions.";
  private static final String FUTURE = "com.google.common.util.concurrent.SettableFuture";
  private static final MethodHandle NORMALIZE =
      Form.of(Object.class, AbstractYarnScheduler.class, List.class, String.class)
          .method(AbstractYarnScheduler.class, "normalizeResourceRequests", List.class,
              String.class)
          .method(AbstractYarnScheduler.class, "normalizeResourceRequests", List.class)
          .method(AbstractYarnScheduler.class, "normalizeRequests", List.class).get(MISSING);
  private static final MethodHandle START_MONITORS = monitors("initialize");
  private static final MethodHandle CHANGE_MONITORS = monitors("reinitialize");
  private static final MethodHandle NEW_APPLICATION = Form.of(SchedulerApplication.class,
      Queue.class, String.class, Priority.class, boolean.class)
      .constructor(SchedulerApplication.class, Queue.class, String.class, Priority.class,
          boolean.class)
      .constructor(SchedulerApplication.class, Queue.class, String.class, Priority.class)
      .get(MISSING);
  private static final MethodHandle COUNT_SUBMISSION = counting("submitApp");
  private static final MethodHandle COUNT_ATTEMPT = counting("submitAppAttempt");
  private static final MethodHandle COUNT_PREEMPTED =
      Form.optional(QueueMetrics.class, "updatePreemptedResources", Resource.class);
  private static final MethodHandle COUNT_PREEMPTED_TYPES =
      Form.optional(QueueMetrics.class, "updatePreemptedForCustomResources", Resource.class);
  private static final MethodHandle COUNT_PREEMPTED_SECONDS = Form.optional(QueueMetrics.class,
      "updatePreemptedSecondsForCustomResources", Resource.class, long.class);
  private static final Class<?>[] ALLOCATED = {List.class, Resource.class, Set.class, Set.class,
      List.class, List.class, List.class, List.class, List.class, List.class, List.class,
      List.class};
  private static final MethodHandle NEW_ALLOCATION = Form.of(Allocation.class, ALLOCATED)
      .constructor(Allocation.class, ALLOCATED)
      .constructor(Allocation.class, Arrays.copyOf(ALLOCATED, 11))
      .constructor(Allocation.class, Arrays.copyOf(ALLOCATED, 10)).get(MISSING);
  private static final MethodHandle PREVIOUS_CONTAINERS =
      Form.optional(SchedulerApplicationAttempt.class, "pullPreviousAttemptContainers");
  private static final Class<?>[] SERVED = {NodeType.class, SchedulerNode.class,
      SchedulerRequestKey.class, RMContainer.class};
  private static final Class<?>[] SERVED_IN_3_1 = {NodeType.class, SchedulerNode.class,
      SchedulerRequestKey.class, Container.class};
  private static final boolean SERVES_WITH_STATE =
      Form.has(AppSchedulingInfo.class, "allocate", SERVED);
  private static final MethodHandle SERVE = Form.of(Object.class, AppSchedulingInfo.class,
      NodeType.class, SchedulerNode.class, SchedulerRequestKey.class, Object.class)
      .method(AppSchedulingInfo.class, "allocate", SERVED)
      .method(AppSchedulingInfo.class, "allocate", SERVED_IN_3_1).get(MISSING);
  private static final MethodHandle SET_REQUEST =
      Form.of(Object.class, RMContainerImpl.class, Object.class)
          .method(RMContainerImpl.class, "setContainerRequest",
              Form.type(SCHEDULER + "common.ContainerRequest"))
          .method(RMContainerImpl.class, "setResourceRequests", List.class).get(MISSING);
  private static final MethodHandle FORGET =
      Form.of(Object.class, SchedulerApplicationAttempt.class, ContainerId.class)
          .method(SchedulerApplicationAttempt.class, "removeRMContainer", ContainerId.class)
          .get(MISSING);
  private static final MethodHandle REFUSED_ASKS = Form.of(RuntimeException.class, String.class)
      .constructor(Form.type(EXCEPTIONS + "SchedulerInvalidResourceRequestException"),
          String.class)
      .constructor(Form.type(EXCEPTIONS + "SchedulerInvalidResoureRequestException"),
          String.class)
      .constructor(YarnRuntimeException.class, String.class).get(MISSING);
  private static final MethodHandle PLACES =
      Form.of(Object.class, AppSchedulingInfo.class, SchedulerRequestKey.class)
          .method(AppSchedulingInfo.class, "getAppPlacementAllocator", SchedulerRequestKey.class)
          .method(AppSchedulingInfo.class, "getSchedulingPlacementSet", SchedulerRequestKey.class)
          .get(MISSING);
  private static final MethodHandle ROWS = Form.of(Map.class, Object.class)
      .method(Form.type(SCHEDULER + "placement.AppPlacementAllocator"), "getResourceRequests")
      .method(Form.type(SCHEDULER + "placement.SchedulingPlacementSet"), "getResourceRequests")
      .get(MISSING);
  private static final MethodHandle DROP_ROWS =
      Form.of(Object.class, AppSchedulingInfo.class, SchedulerRequestKey.class)
          .method(AppSchedulingInfo.class, "removeAppPlacement", SchedulerRequestKey.class)
          .method(AppSchedulingInfo.class, "removePlacementSets", SchedulerRequestKey.class)
          .get(MISSING);
  private static final MethodHandle PROPERTIES = Form.optional(ApplicationSubmissionContext.class,
      "getApplicationSchedulingPropertiesMap");
  private static final MethodHandle LABELS =
      Form.optional(ClusterNodeTracker.class, "getPartitions");
  private static final MethodHandle UPDATE_LABEL = Form.optional(ClusterNodeTracker.class,
      "updateNodesPerPartition", String.class, Set.class);
  private static final Class<?>[] AUDITED = {String.class, String.class, String.class,
      ApplicationId.class, ContainerId.class, Resource.class, String.class, String.class};
  private static final MethodHandle AUDIT = Form.of(Object.class, AUDITED)
      .method(RMAuditLogger.class, "logSuccess", AUDITED)
      .method(RMAuditLogger.class, "logSuccess", Arrays.copyOf(AUDITED, 6)).get(MISSING);
  private static final MethodHandle REAL_USER = Form.optional(RMApp.class, "getRealUser");
  private static final MethodHandle SET_REAL_USER =
      Form.optional(ApplicationStateData.class, "setRealUser", String.class);
  private static final MethodHandle LAUNCH_TIME = Form.optional(RMApp.class, "getLaunchTime");
  private static final MethodHandle SET_LAUNCH_TIME =
      Form.optional(ApplicationStateData.class, "setLaunchTime", long.class);
  private static final MethodHandle STORE = Form.of(Object.class, RMStateStore.class,
      ApplicationStateData.class, boolean.class, Object.class)
      .method(RMStateStore.class, "updateApplicationStateSynchronously",
          ApplicationStateData.class, boolean.class,
          Form.type("org.apache.hadoop.thirdparty." + FUTURE))
      .method(RMStateStore.class, "updateApplicationStateSynchronously",
          ApplicationStateData.class, boolean.class, Form.type(FUTURE)).get(MISSING);

  private HadoopCalls() {
  }

  /** The calls of which this Hadoop has no form. */
  static Set<String> missing() {
    return MISSING;
  }

  /** What Loomcard offers elsewhere and this Hadoop has no place for, in words. */
  public static List<String> lacking() {
    return Form.has(ApplicationSubmissionContext.class, "getApplicationSchedulingPropertiesMap")
        ? Collections.<String>emptyList()
        : Collections.singletonList("an application's scheduling properties");
  }

  private static MethodHandle monitors(String name) {
    return Form.of(Object.class, AbstractYarnScheduler.class, RMContext.class, Configuration.class)
        .through(AbstractYarnScheduler.class, "schedulingMonitorManager", name, RMContext.class,
            Configuration.class).orNothing();
  }

  private static MethodHandle counting(String name) {
    return Form.of(Object.class, QueueMetrics.class, String.class, boolean.class)
        .method(QueueMetrics.class, name, String.class, boolean.class)
        .method(QueueMetrics.class, name, String.class).get(MISSING);
  }

  static void startMonitors(AbstractYarnScheduler<?, ?> scheduler, RMContext context,
      Configuration conf) {
    Form.call(() -> (Object) START_MONITORS.invokeExact(scheduler, context, conf));
  }

  static void changeMonitors(AbstractYarnScheduler<?, ?> scheduler, RMContext context,
      Configuration conf) {
    Form.call(() -> (Object) CHANGE_MONITORS.invokeExact(scheduler, context, conf));
  }

  static void normalize(AbstractYarnScheduler<?, ?> scheduler, List<ResourceRequest> asks,
      String queue) {
    Form.call(() -> (Object) NORMALIZE.invokeExact(scheduler, asks, queue));
  }

  @SuppressWarnings("unchecked")
  public static <A extends SchedulerApplicationAttempt> SchedulerApplication<A> newApplication(
      Queue queue, String user, Priority priority, boolean unmanaged) {
    return Form.call(() -> (SchedulerApplication<A>) (SchedulerApplication<?>)
        NEW_APPLICATION.invokeExact(queue, user, priority, unmanaged));
  }

  public static void countSubmission(QueueMetrics metrics, String user, boolean unmanaged) {
    Form.call(() -> (Object) COUNT_SUBMISSION.invokeExact(metrics, user, unmanaged));
  }

  public static void countAttempt(QueueMetrics metrics, String user, boolean unmanaged) {
    Form.call(() -> (Object) COUNT_ATTEMPT.invokeExact(metrics, user, unmanaged));
  }

  /** Counts the amounts of a container that was taken back; some releases count less of them. */
  static void countPreempted(QueueMetrics metrics, Resource size, long seconds) {
    Form.call(() -> (Object) COUNT_PREEMPTED.invokeExact(metrics, size));
    Form.call(() -> (Object) COUNT_PREEMPTED_TYPES.invokeExact(metrics, size));
    Form.call(() -> (Object) COUNT_PREEMPTED_SECONDS.invokeExact(metrics, size, seconds));
  }

  /**
   * The tokens come last: pulling containers of any kind is what makes them. In 2.10 the containers
   * of the attempt before reach the AM when it registers.
   */
  public static Allocation allocation(HadoopCompat.Attempt attempt, List<Container> containers,
      Resource headroom, List<Container> increased, List<Container> decreased,
      List<Container> promoted, List<Container> demoted) {
    SchedulerApplicationAttempt self = attempt;
    return Form.call(() -> {
      List<?> previous = (List<?>) (Object) PREVIOUS_CONTAINERS.invokeExact(self);
      List<NMToken> tokens = attempt.pullUpdatedNMTokens();
      return (Allocation) NEW_ALLOCATION.invokeExact(containers, headroom,
          attempt.pullPreemptions(), (Set<?>) null, (List<?>) null, tokens, increased, decreased,
          promoted, demoted, previous, (List<?>) null);
    });
  }

  /** Takes one container off an ask and keeps with it what is needed to ask again. */
  public static void serve(AppSchedulingInfo asks, NodeType type, SchedulerNode node,
      SchedulerRequestKey key, RMContainerImpl container) {
    Object served = SERVES_WITH_STATE ? container : container.getContainer();
    setRequest(container,
        Form.call(() -> (Object) SERVE.invokeExact(asks, type, node, key, served)));
  }

  private static void setRequest(RMContainerImpl container, Object request) {
    Form.call(() -> (Object) SET_REQUEST.invokeExact(container, request));
  }

  /** What the AM that sent a heartbeat gets, as an exception that says {@code message}. */
  public static RuntimeException refusedAsks(String message) {
    return Form.call(() -> (RuntimeException) REFUSED_ASKS.invokeExact(message));
  }

  /** What was asked for with this container is not to be asked for again when it ends. */
  public static void clearRequest(RMContainer container) {
    setRequest((RMContainerImpl) container, null);
  }

  /**
   * The rows of an ask by host, rack and {@code *}; empty when it is gone. Live: read under the
   * write lock.
   */
  @SuppressWarnings("unchecked")
  public static Map<String, ResourceRequest> rows(SchedulerApplicationAttempt attempt,
      SchedulerRequestKey key) {
    AppSchedulingInfo asks = attempt.getAppSchedulingInfo();
    return Form.call(() -> {
      Object places = (Object) PLACES.invokeExact(asks, key);
      return places == null ? Collections.<String, ResourceRequest>emptyMap()
          : (Map<String, ResourceRequest>) (Map<?, ?>) ROWS.invokeExact(places);
    });
  }

  /** Drops whatever YARN keeps of an ask; nothing of it is outstanding. */
  public static void dropRows(SchedulerApplicationAttempt attempt, SchedulerRequestKey key) {
    AppSchedulingInfo asks = attempt.getAppSchedulingInfo();
    Form.call(() -> (Object) DROP_ROWS.invokeExact(asks, key));
  }

  /**
   * What the submission says to the scheduler. YARN's own {@code getApplicationSchedulingEnvs} adds
   * the AM's whole environment, secrets included, which must not reach a journal. 2.10 has none.
   */
  @SuppressWarnings("unchecked")
  public static Map<String, String> schedulingProperties(RMApp app) {
    ApplicationSubmissionContext context = app.getApplicationSubmissionContext();
    Map<String, String> properties = context == null ? null : (Map<String, String>) Form.call(
        () -> (Object) PROPERTIES.invokeExact(context));
    return properties == null ? Collections.<String, String>emptyMap() : properties;
  }

  /** The labels that the tracker holds; before 3.4, which does not say that, those that it may. */
  @SuppressWarnings("unchecked")
  static Collection<String> labels(ClusterNodeTracker<?> tracker, RMContext context) {
    Object held = Form.call(() -> (Object) LABELS.invokeExact(tracker));
    if (held != null) {
      return (Collection<String>) held;
    }
    Set<String> labels = new HashSet<>(context.getNodeLabelManager().getClusterNodeLabelNames());
    labels.add(RMNodeLabelsManager.NO_LABEL);
    return labels;
  }

  static void updateLabel(ClusterNodeTracker<?> tracker, String label, Set<NodeId> nodes) {
    Form.call(() -> (Object) UPDATE_LABEL.invokeExact(tracker, label, nodes));
  }

  /** The line in the audit log that operators look for. */
  public static void audit(String operation, SchedulerApplicationAttempt attempt,
      Container container) {
    Form.call(() -> (Object) AUDIT.invokeExact(attempt.getUser(), operation, "SchedulerApp",
        attempt.getApplicationId(), container.getId(), container.getResource(),
        attempt.getQueueName(), (String) null));
  }

  /** Copies what later releases keep of an application in the state store too. */
  static void copy(RMApp app, ApplicationStateData state) {
    Object realUser = Form.call(() -> (Object) REAL_USER.invokeExact(app));
    if (realUser != null) {
      Form.call(() -> (Object) SET_REAL_USER.invokeExact(state, (String) realUser));
    }
    Object launched = Form.call(() -> (Object) LAUNCH_TIME.invokeExact(app));
    if (launched != null) {
      Form.call(() -> (Object) SET_LAUNCH_TIME.invokeExact(state, (long) (Long) launched));
    }
  }

  static void store(RMStateStore store, ApplicationStateData state, Object stored) {
    Form.call(() -> (Object) STORE.invokeExact(store, state, false, stored));
  }

  /** Forgets a live container. */
  static void forget(SchedulerApplicationAttempt attempt, ContainerId id) {
    Form.call(() -> (Object) FORGET.invokeExact(attempt, id));
  }
}
