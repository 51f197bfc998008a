package org.loomcard.yarn.hadoop;

import java.lang.invoke.MethodHandle;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueStatistics;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;

/**
 * What the scheduler makes of YARN's records and reads in them. Releases before 2.10 have other
 * fields there, or none.
 */
public final class YarnRecords {
  private static final MethodHandle SET_PATH =
      Form.optional(QueueInfo.class, "setQueuePath", String.class);
  private static final MethodHandle SET_MOST_RUNNING =
      Form.optional(QueueInfo.class, "setMaxParallelApps", int.class);

  private YarnRecords() {
  }

  /** The amounts of {@code resource}, in YARN's order of types. */
  public static long[] amounts(Resource resource) {
    ResourceInformation[] types = resource.getResources();
    long[] amounts = new long[types.length];
    for (int i = 0; i < amounts.length; i++) {
      amounts[i] = types[i].getValue();
    }
    return amounts;
  }

  /** A resource with these amounts, negative ones as 0. */
  public static Resource resource(long[] amounts) {
    Resource resource = Resource.newInstance(0, 0);
    for (int i = 0; i < Math.min(amounts.length, resource.getResources().length); i++) {
      resource.setResourceValue(i, Math.max(0, amounts[i]));
    }
    return resource;
  }

  /** YARN's names of the types, in the order of the amounts. */
  public static String[] types() {
    ResourceInformation[] types = Resource.newInstance(0, 0).getResources();
    String[] names = new String[types.length];
    for (int i = 0; i < names.length; i++) {
      names[i] = types[i].getName();
    }
    return names;
  }

  /** Returns the id that is written so; throws IllegalArgumentException if none is. */
  public static ApplicationId applicationId(String text) {
    return ApplicationId.fromString(text);
  }

  /** Returns a new container of this ask, without a token. */
  public static Container newContainer(ContainerId id, NodeId node, String httpAddress,
      Resource size, SchedulerRequestKey key) {
    return BuilderUtils.newContainer(id, node, httpAddress, size, key.getPriority(), null,
        key.getAllocationRequestId());
  }

  /** Returns the ResourceManager's state machine of a new container. */
  static RMContainerImpl newRMContainer(Container container, SchedulerRequestKey key,
      ApplicationAttemptId attempt, String user, RMContext context, String label, String queue) {
    RMContainerImpl made = new RMContainerImpl(container, key, attempt, container.getNodeId(),
        user, context, label);
    made.setQueueName(queue);
    return made;
  }

  /** The ask for which a container was allocated. */
  public static SchedulerRequestKey key(RMContainer container) {
    return container.getAllocatedSchedulerKey();
  }

  public static boolean isGuaranteed(RMContainer container) {
    return container.getExecutionType() == ExecutionType.GUARANTEED;
  }

  public static boolean isGuaranteed(Container container) {
    return container.getExecutionType() == ExecutionType.GUARANTEED;
  }

  public static long allocationRequestId(Container container) {
    return container.getAllocationRequestId();
  }

  /** The label that the ask of a container named, which runs on nodes with {@code label}. */
  public static String label(RMContainer container, String label) {
    String asked = container.getNodeLabelExpression();
    return asked == null ? "" : asked;
  }

  /** The priority that a submission asks for; null for none. */
  public static Priority priority(AppAddedSchedulerEvent event) {
    return event.getApplicatonPriority();
  }

  /** Notes an application's new priority where YARN's pages read it. */
  public static void setPriority(SchedulerApplication<?> application, Priority priority) {
    application.setPriority(priority);
  }

  /** Adds a message to the diagnostics of an application. */
  public static void diagnose(RMAppAttempt attempt, String message) {
    attempt.updateAMLaunchDiagnostics(message);
  }

  /** Enters the figures of {@code metrics}, which clients get with a queue. */
  public static void setStatistics(QueueInfo info, QueueMetrics metrics) {
    QueueStatistics figures = QueueStatistics.newInstance(metrics.getAppsSubmitted(),
        metrics.getAppsRunning(),
        metrics.getAppsPending(), metrics.getAppsCompleted(), metrics.getAppsKilled(),
        metrics.getAppsFailed(),
        metrics.getActiveUsers(), metrics.getAvailableMB(), metrics.getAllocatedMB(),
        metrics.getPendingMB(), metrics.getReservedMB(), metrics.getAvailableVirtualCores(),
        metrics.getAllocatedVirtualCores(),
        metrics.getPendingVirtualCores(), metrics.getReservedVirtualCores());
    figures.setAllocatedContainers(metrics.getAllocatedContainers());
    figures.setPendingContainers(metrics.getPendingContainers());
    figures.setReservedContainers(metrics.getReservedContainers());
    info.setQueueStatistics(figures);
  }

  /** Enters the path of a queue and how many applications may run in it, where clients get them. */
  public static void setPath(QueueInfo info, String path, int mostRunning) {
    Form.call(() -> (Object) SET_PATH.invokeExact(info, path));
    Form.call(() -> (Object) SET_MOST_RUNNING.invokeExact(info, mostRunning));
  }
}
