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
 * An attempt that takes what the metrics of its queue count for it along to another queue, its
 * containers that shrink just then included.
 */
public abstract class MovableAttempt extends HadoopCompat.Attempt {
  public MovableAttempt(ApplicationAttemptId id, String user, Queue queue,
      AbstractUsersManager users, RMContext context) {
    super(id, user, queue, users, context);
  }

  /** The live node of that id, or null. */
  protected abstract SchedulerNode node(NodeId id);

  /** {@code second} is there to change the container {@code id}. */
  protected abstract void updateBegun(ContainerId id, RMContainer second);

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

  /** The metrics count a container elsewhere from now on; an opportunistic one nowhere. */
  public final void count(RMContainer container, Queue from, String label, Queue to,
      String newLabel) {
    if (container.getExecutionType() == ExecutionType.GUARANTEED) {
      Resource size = container.getContainer().getResource();
      from.getMetrics().releaseResources(label, getUser(), 1, size);
      to.getMetrics().allocateResources(newLabel, getUser(), 1, size, false);
    }
  }

  /** Where the metrics count a container: its label is empty where YARN made it for a change. */
  private String partition(RMContainer container) {
    SchedulerNode node = node(container.getContainer().getNodeId());
    return node == null ? "" : node.getPartition();
  }

  /**
   * A container is to shrink: YARN made a second one, which takes over what is given back and ends
   * when the AM has fetched the change. Not synchronized as a whole, since YARN's own lock of the
   * attempt is taken within.
   */
  @Override
  public final void addToNewlyDecreasedContainers(ContainerId id, RMContainer second) {
    // YARN has entered the first one under this id too, and would move, report and count it twice.
    removeRMContainer(second.getContainerId());
    addRMContainer(second.getContainerId(), second);
    if (second.getExecutionType() == ExecutionType.GUARANTEED) {
      // Its end takes one container off the metrics, and YARN has not counted it as begun.
      queue.getMetrics().allocateResources(partition(second), getUser(), 1, Resources.none(),
          false);
    }
    updateBegun(id, second); // last: from now on it ends with the first one
    super.addToNewlyDecreasedContainers(id, second);
  }
}
