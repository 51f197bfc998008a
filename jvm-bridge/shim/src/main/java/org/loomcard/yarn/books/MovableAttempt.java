package org.loomcard.yarn.books;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;

/** An attempt that takes what the metrics of its queue count for it along to another queue. */
abstract class MovableAttempt extends HadoopLine.Attempt {
  MovableAttempt(ApplicationAttemptId id, String user, Queue queue, AbstractUsersManager users,
      RMContext context) {
    super(id, user, queue, users, context);
  }

  /**
   * In place of YARN's own, which takes opportunistic containers along too: no queue's metrics
   * count those when they begin or end, so that both queues would be wrong for good.
   */
  @Override
  public final void move(Queue target) {
    writeLock.lock();
    try {
      for (RMContainer container : liveContainers.values()) {
        ((RMContainerImpl) container).setQueueName(target.getQueueName());
        if (container.getExecutionType() == ExecutionType.GUARANTEED) {
          Resource size = container.getContainer().getResource();
          String label = container.getNodeLabelExpression();
          queue.getMetrics().releaseResources(label, getUser(), 1, size);
          target.getMetrics().allocateResources(label, getUser(), 1, size, false);
        }
      }
      if (!isStopped()) {
        appSchedulingInfo.move(target);
      }
      queue = target;
    } finally {
      writeLock.unlock();
    }
  }
}
