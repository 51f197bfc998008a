package org.loomcard.yarn;

import org.apache.hadoop.util.AutoCloseableLock;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger.AuditConstants;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.loomcard.yarn.hadoop.DelegatingScheduler;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.ContainerEndKind;
import org.loomcard.yarn.state.ContainerEntry;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;
import org.loomcard.yarn.wire.EngineClock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends and preempts containers. */
final class ContainerLifecycle {
  private static final Logger LOG = LoggerFactory.getLogger(ContainerLifecycle.class);
  private final DelegatingScheduler<LoomcardAttempt, LoomcardNode> yarn;
  private final ClusterState cluster;
  private final EngineClock clock;
  private final AutoCloseableLock readLock;
  private final Runnable signal;

  /** @param signal called when the policy should see what happened */
  ContainerLifecycle(DelegatingScheduler<LoomcardAttempt, LoomcardNode> yarn, ClusterState cluster,
      EngineClock clock, Runnable signal) {
    this.yarn = yarn;
    this.cluster = cluster;
    this.clock = clock;
    this.readLock = yarn.readLock();
    this.signal = signal;
  }

  private void end(RMContainer container, ContainerStatus status, RMContainerEventType event) {
    try (AutoCloseableLock held = readLock.acquire()) {
      yarn.completedContainer(container, status, event);
    }
    signal.run();
  }

  /** Ends a container, or takes back an increase, that the AM has not used in time. */
  void expire(ContainerId id, boolean isIncrease) {
    if (isIncrease) {
      yarn.rollBackIncrease(id);
    } else {
      end(yarn.getRMContainer(id), SchedulerUtils.createAbnormalContainerStatus(id,
          SchedulerUtils.EXPIRED_CONTAINER), RMContainerEventType.EXPIRE);
    }
  }

  /** Ends a container that the ResourceManager gives back. */
  void release(RMContainer container) {
    end(container, SchedulerUtils.createAbnormalContainerStatus(container.getContainerId(),
        SchedulerUtils.RELEASED_CONTAINER), RMContainerEventType.RELEASED);
  }

  /** Handles a container that YARN has ended. */
  void completed(RMContainer container, ContainerStatus status, RMContainerEventType event) {
    try (AutoCloseableLock held = readLock.acquire()) {
      ContainerId id = container.getContainerId();
      LoomcardAttempt attempt = yarn.getCurrentAttemptForContainer(id);
      if (attempt == null) {
        LOG.info("Container {} of an unknown application ended: {}", id, event);
        return;
      }
      LoomcardNode node = yarn.nodeTracker().getNode(container.getContainer().getNodeId());
      String partition = node == null ? "" : node.getPartition();
      if (attempt.containerCompleted(container, status, event, partition)) {
        attempt.application().charges().end(id);
        HadoopCalls.audit(AuditConstants.RELEASE_CONTAINER, attempt, container.getContainer());
        cluster.containerEnded(id, ContainerEndKind.of(status, event), status.getExitStatus());
        for (RMContainer update : cluster.updatesOf(id)) {
          HadoopCalls.clearRequest(update);
          yarn.completedContainer(update, status, RMContainerEventType.KILL);
        }
      }
      if (node != null) {
        node.releaseContainer(id, false);
      }
      LOG.debug("{} ended: {}", id, event);
    }
  }

  /** Preempts a container that a plan names, at once or after {@code graceMs} milliseconds. */
  void preempt(ContainerEntry container, long graceMs, String reason) {
    if (graceMs <= 0) {
      endByPreemption(container.container(), reason);
    } else {
      container.announcePreemption(clock.nowMs());
      announcePreemption(container.container());
      container.node().preempt(container.container(), clock.nowMs() + graceMs);
    }
  }

  /** Announces the preemption to the AM, with its next heartbeat. */
  void announcePreemption(RMContainer container) {
    LoomcardAttempt attempt = yarn.getCurrentAttemptForContainer(container.getContainerId());
    if (attempt != null) {
      attempt.announcePreemption(container.getContainerId());
    }
  }

  void endByPreemption(RMContainer container, String reason) {
    end(container, SchedulerUtils.createPreemptedContainerStatus(container.getContainerId(),
        reason), RMContainerEventType.KILL);
  }
}
