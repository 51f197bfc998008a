package org.loomcard.yarn.hadoop;

import java.lang.invoke.MethodHandle;
import java.util.EnumSet;
import java.util.List;
import org.apache.hadoop.util.AutoCloseableLock;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.proto.YarnServiceProtos.SchedulerResourceTypes;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore.RMState;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ClusterNodeTracker;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.util.resource.DominantResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;

/**
 * YARN's base class in the form that the parts of a scheduler need. The protected methods and
 * fields that they call are public here. It also has those methods of YARN's interface that do not
 * need the parts.
 */
public abstract class DelegatingScheduler<A extends SchedulerApplicationAttempt,
    N extends SchedulerNode> extends HadoopCompat<A, N> {
  private static final MethodHandle CORRECT = Form.optional(AbstractYarnScheduler.class,
      "autoCorrectContainerAllocation", List.class, SchedulerApplicationAttempt.class);
  private final ResourceCalculator calculator = new DominantResourceCalculator();

  protected DelegatingScheduler(String name) {
    super(name);
  }

  public final AutoCloseableLock readLock() {
    return new AutoCloseableLock(readLock);
  }

  public final AutoCloseableLock writeLock() {
    return new AutoCloseableLock(writeLock);
  }

  public final ClusterNodeTracker<N> nodeTracker() {
    return nodeTracker;
  }

  /** Does YARN's own part of a node's heartbeat: containers that started and ended. */
  public final void updateNode(RMNode node, long nowMs) {
    setLastNodeUpdateTime(nowMs);
    nodeUpdate(node);
  }

  /** Does YARN's own part of {@link #updateNodeResource}. */
  public final void resizeNode(RMNode node, ResourceOption option) {
    super.updateNodeResource(node, option);
  }

  /** Makes YARN enter the changes of containers that an AM requests. */
  public final void updateContainers(A attempt, ContainerUpdates updates) {
    handleContainerUpdates(attempt, updates);
  }

  /**
   * Takes the containers that the AM has not fetched yet off what it asks for, and ends those that
   * are too many; only since 3.5, and only if the operator wants it.
   */
  public final void correct(A attempt, List<ResourceRequest> asks) {
    AbstractYarnScheduler<?, ?> self = this;
    SchedulerApplicationAttempt asking = attempt;
    Form.call(() -> (Object) CORRECT.invokeExact(self, asks, asking));
  }

  /** Ends the containers that an AM gives back. */
  public final void release(A attempt, List<ContainerId> containers) {
    releaseContainers(containers, attempt);
  }

  /** Takes back an increase that the AM has not used in time. */
  public final void rollBackIncrease(ContainerId id) {
    readLock.lock();
    try {
      rollbackContainerUpdate(id);
    } finally {
      readLock.unlock();
    }
  }

  /** Returns false in the first seconds after a recovery, when the nodes have not reported yet. */
  public final boolean isReady() {
    return !rmContext.isWorkPreservingRecoveryEnabled()
        || rmContext.isSchedulerReadyForAllocatingContainers();
  }

  @Override
  public final void setRMContext(RMContext context) {
    rmContext = context;
  }

  /** Does nothing: YARN sends what it recovers as events. */
  @Override
  public final void recover(RMState state) {
  }

  @Override
  public final ResourceCalculator getResourceCalculator() {
    return calculator;
  }

  @Override
  public final EnumSet<SchedulerResourceTypes> getSchedulingResourceTypes() {
    return EnumSet.of(SchedulerResourceTypes.MEMORY, SchedulerResourceTypes.CPU);
  }

  @Override
  public final int getNumClusterNodes() {
    return nodeTracker.nodeCount();
  }
}
