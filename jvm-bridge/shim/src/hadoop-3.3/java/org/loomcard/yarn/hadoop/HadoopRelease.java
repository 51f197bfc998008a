package org.loomcard.yarn.hadoop;

import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ClusterNodeTracker;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;

/** What differs between the releases of Hadoop 3. This one is for 3.3. */
final class HadoopRelease {
  private HadoopRelease() {
  }

  static <A extends SchedulerApplicationAttempt> SchedulerApplication<A> newApplication(
      Queue queue, String user, Priority priority, boolean unmanaged) {
    return new SchedulerApplication<>(queue, user, priority);
  }

  static void countSubmission(QueueMetrics metrics, String user, boolean unmanaged) {
    metrics.submitApp(user);
  }

  static void countAttempt(QueueMetrics metrics, String user, boolean unmanaged) {
    metrics.submitAppAttempt(user);
  }

  /** The labels under which nodes may be; the tracker itself does not tell in this release. */
  static Collection<String> trackedLabels(ClusterNodeTracker<?> nodes,
      RMContext context) {
    Set<String> labels = new HashSet<>(context.getNodeLabelManager().getClusterNodeLabelNames());
    labels.add(RMNodeLabelsManager.NO_LABEL);
    return labels;
  }

  /** An attempt that hears of its recovered containers. */
  abstract static class Attempt extends SchedulerApplicationAttempt {
    Attempt(ApplicationAttemptId id, String user, Queue queue, AbstractUsersManager users,
        RMContext context) {
      super(id, user, queue, users, context);
    }

    /** A live container was recovered. */
    public abstract void recovered(SchedulerNode node, RMContainer container);

    @Override
    public final void recoverContainer(SchedulerNode node, RMContainer container) {
      super.recoverContainer(node, container);
      if (container.getState() != RMContainerState.COMPLETED) {
        recovered(node, container);
      }
    }
  }
}
