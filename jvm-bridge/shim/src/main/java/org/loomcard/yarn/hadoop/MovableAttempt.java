package org.loomcard.yarn.hadoop;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * An attempt that can move to another queue. What the metrics of its queue count for it moves too,
 * also for containers that shrink at that moment.
 */
public abstract class MovableAttempt extends HadoopCompat.Attempt {
  public MovableAttempt(ApplicationAttemptId id, String user, Queue queue,
      AbstractUsersManager users, RMContext context) {
    super(id, user, queue, users, context);
  }

  /** Returns the live node of that id, or null. */
  protected abstract SchedulerNode node(NodeId id);

  /** Notes that {@code second} exists to change the container {@code id}. */
  protected abstract void updateBegun(ContainerId id, RMContainer second);

  /**
   * Replaces YARN's own method, which moves opportunistic containers too. No queue's metrics count
   * those when they begin or end, so both queues would be wrong for good.
   */
  @Override
  public final void move(Queue target) {
    writeLock.lock();
    try {
      for (RMContainer container : liveContainers.values()) {
        ((RMContainerImpl) container).setQueueName(target.getQueueName());
        String label = partition(container);
        count(container, queue, label, target, label);
      }
      if (!isStopped()) {
        appSchedulingInfo.move(target);
      }
      queue = target;
    } finally {
      writeLock.unlock();
    }
  }

  /**
   * Makes the metrics count a container elsewhere from now on; an opportunistic one is counted
   * nowhere.
   */
  public final void count(RMContainer container, Queue from, String label, Queue to,
      String newLabel) {
    if (container.getExecutionType() == ExecutionType.GUARANTEED) {
      Resource size = container.getContainer().getResource();
      from.getMetrics().releaseResources(label, getUser(), 1, size);
      to.getMetrics().allocateResources(newLabel, getUser(), 1, size, false);
    }
  }

  /**
   * Returns the partition in which the metrics count a container. The container's own label cannot
   * be used: it is empty when YARN made the container for a change.
   */
  private String partition(RMContainer container) {
    SchedulerNode node = node(container.getContainer().getNodeId());
    return node == null ? "" : node.getPartition();
  }

  /**
   * Adds a container that is to shrink. YARN made a second one, which takes over what is given back
   * and ends when the AM has fetched the change. The method is not synchronized as a whole, since
   * it takes YARN's own lock of the attempt.
   */
  @Override
  public final void addToNewlyDecreasedContainers(ContainerId id, RMContainer second) {
    // YARN has entered the first one under this id too, and would move, report and count it twice.
    forget(second.getContainerId());
    addRMContainer(second.getContainerId(), second);
    if (second.getExecutionType() == ExecutionType.GUARANTEED) {
      // Its end subtracts one container from the metrics, and YARN has not counted its beginning.
      queue.getMetrics().allocateResources(partition(second), getUser(), 1, Resources.none(),
          false);
    }
    updateBegun(id, second); // last: from now on it ends with the first one
    super.addToNewlyDecreasedContainers(id, second);
  }
}
