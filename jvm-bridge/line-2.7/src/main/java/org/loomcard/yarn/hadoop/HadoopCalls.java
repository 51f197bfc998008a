package org.loomcard.yarn.hadoop;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AppSchedulingInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/** What the scheduler calls in YARN; this is for Hadoop 2.7. */
public final class HadoopCalls {
  private static final List<String> LACKING = Collections.unmodifiableList(Arrays.asList(
      "priorities of applications", "lifetimes of applications",
      "an application's scheduling properties", "diagnostics of an application by the scheduler",
      "changes of running containers", "opportunistic containers",
      "allocation request ids", "resource types other than memory and vcores",
      "node labels that share", "statistics of queues for clients",
      "metrics by node label and of preemption", "Loomcard's state in ZooKeeper",
      "a move to another queue after a restart",
      "placement rules"));

  private HadoopCalls() {
  }

  /** Empty: this jar was built with what it calls. */
  static Set<String> missing() {
    return Collections.emptySet();
  }

  /** What Loomcard offers elsewhere and this Hadoop has no place for, in words. */
  public static List<String> lacking() {
    return LACKING;
  }

  public static <A extends SchedulerApplicationAttempt> SchedulerApplication<A> newApplication(
      Queue queue, String user, Priority priority, boolean unmanaged) {
    return new SchedulerApplication<>(queue, user);
  }

  public static void countSubmission(QueueMetrics metrics, String user, boolean unmanaged) {
    metrics.submitApp(user);
  }

  public static void countAttempt(QueueMetrics metrics, String user, boolean unmanaged) {
    metrics.submitAppAttempt(user);
  }

  /** The tokens were made when the containers were pulled. */
  public static Allocation allocation(HadoopCompat.Attempt attempt, List<Container> containers,
      Resource headroom, List<Container> increased, List<Container> decreased,
      List<Container> promoted, List<Container> demoted) {
    return new Allocation(containers, headroom, attempt.pullPreemptions(), null, null,
        attempt.pullTokens());
  }

  /**
   * Takes one container off an ask and keeps with it what is needed to ask again. YARN wants the
   * row of the place that was used. It counts that row's size, which an AM may have sent wrong, and
   * its copies of the rows have no label.
   */
  public static void serve(AppSchedulingInfo asks, NodeType type, SchedulerNode node,
      SchedulerRequestKey key, RMContainerImpl container) {
    String place = type == NodeType.NODE_LOCAL ? node.getNodeName()
        : type == NodeType.RACK_LOCAL ? node.getRackName() : ResourceRequest.ANY;
    ResourceRequest row = asks.getResourceRequest(key.getPriority(), place);
    row.setCapability(container.getContainer().getResource());
    String label =
        asks.getResourceRequest(key.getPriority(), ResourceRequest.ANY).getNodeLabelExpression();
    List<ResourceRequest> served =
        asks.allocate(type, node, key.getPriority(), row, container.getContainer());
    for (ResourceRequest copy : served) {
      copy.setNodeLabelExpression(label);
    }
    container.setResourceRequests(served);
  }

  /** What the AM that sent a heartbeat gets, as an exception that says {@code message}. */
  public static RuntimeException refusedAsks(String message) {
    return new YarnRuntimeException(message);
  }

  /** What was asked for with this container is not to be asked for again when it ends. */
  public static void clearRequest(RMContainer container) {
    ((RMContainerImpl) container).setResourceRequests(null);
  }

  /**
   * The rows of an ask by host, rack and {@code *}; empty when it is gone. When nothing more is
   * outstanding the row {@code *} stays, with a count of 0. Live: read under the write lock.
   */
  public static Map<String, ResourceRequest> rows(SchedulerApplicationAttempt attempt,
      SchedulerRequestKey key) {
    Map<String, ResourceRequest> rows = attempt.getResourceRequests(key.getPriority());
    return rows == null ? Collections.<String, ResourceRequest>emptyMap() : rows;
  }

  /** Drops whatever YARN keeps of an ask; nothing of it is outstanding. */
  public static void dropRows(SchedulerApplicationAttempt attempt, SchedulerRequestKey key) {
    Map<String, ResourceRequest> rows = attempt.getResourceRequests(key.getPriority());
    if (rows != null) {
      rows.clear();
    }
  }

  /** Always empty: a submission has none. */
  public static Map<String, String> schedulingProperties(RMApp app) {
    return Collections.emptyMap();
  }

  /** The line in the audit log that operators look for. */
  public static void audit(String operation, SchedulerApplicationAttempt attempt,
      Container container) {
    RMAuditLogger.logSuccess(attempt.getUser(), operation, "SchedulerApp",
        attempt.getApplicationId(), container.getId());
  }
}
