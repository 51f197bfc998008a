package org.loomcard.yarn.hadoop;

import java.util.Collection;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ClusterNodeTracker;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;

/** What differs between the releases of Hadoop 3. This one is for 3.4 and 3.5. */
final class HadoopRelease {
  private HadoopRelease() {
  }

  static <A extends SchedulerApplicationAttempt> SchedulerApplication<A> newApplication(
      Queue queue, String user, Priority priority, boolean unmanaged) {
    return new SchedulerApplication<>(queue, user, priority, unmanaged);
  }

  static void countSubmission(QueueMetrics metrics, String user, boolean unmanaged) {
    metrics.submitApp(user, unmanaged);
  }

  static void countAttempt(QueueMetrics metrics, String user, boolean unmanaged) {
    metrics.submitAppAttempt(user, unmanaged);
  }

  /** The labels under which YARN's tracker has nodes, or had some. */
  static Collection<String> trackedLabels(ClusterNodeTracker<?> nodes,
      RMContext context) {
    return nodes.getPartitions();
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
    public final boolean recoverContainer(SchedulerNode node, RMContainer container) {
      boolean live = super.recoverContainer(node, container);
      if (live) {
        recovered(node, container);
      }
      return live;
    }
  }
}
