package org.loomcard.yarn.hadoop;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ActiveUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;

/**
 * An attempt that can move to another queue. In Hadoop 2.7 YARN's own move is right: every
 * container is guaranteed, and the metrics know no labels.
 */
public abstract class MovableAttempt extends HadoopCompat.Attempt {
  public MovableAttempt(ApplicationAttemptId id, String user, Queue queue,
      ActiveUsersManager users, RMContext context) {
    super(id, user, queue, users, context);
  }

  /** Returns the live node of that id, or null. */
  protected abstract SchedulerNode node(NodeId id);

  /** Notes that {@code second} exists to change the container {@code id}; never called. */
  protected abstract void updateBegun(ContainerId id, RMContainer second);

  @Override
  public final void move(Queue target) {
    writeLock.lock();
    try {
      super.move(target);
    } finally {
      writeLock.unlock();
    }
  }

  /** Makes the metrics count a container elsewhere from now on. */
  public final void count(RMContainer container, Queue from, String label, Queue to,
      String newLabel) {
    Resource size = container.getContainer().getResource();
    LabelMetrics.release(from.getMetrics(), label, getUser(), size);
    LabelMetrics.allocate(to.getMetrics(), newLabel, getUser(), size);
  }
}
