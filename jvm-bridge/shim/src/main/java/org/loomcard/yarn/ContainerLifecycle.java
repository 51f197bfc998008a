package org.loomcard.yarn;

import java.util.concurrent.locks.Lock;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger.AuditConstants;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.loomcard.yarn.facts.ContainerEndKind;
import org.loomcard.yarn.hadoop.HadoopCompat;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.ContainerEntry;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;
import org.loomcard.yarn.wire.EngineClock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends and preempts containers. */
final class ContainerLifecycle {
  private static final Logger LOG = LoggerFactory.getLogger(ContainerLifecycle.class);
  private final LoomcardScheduler scheduler;
  private final ClusterState cluster;
  private final EngineClock clock;
  private final Lock readLock;

  ContainerLifecycle(LoomcardScheduler scheduler, EngineClock clock) {
    this.scheduler = scheduler;
    this.cluster = scheduler.cluster();
    this.clock = clock;
    this.readLock = scheduler.readLock();
  }

  /** Ends a container, in any of the ways that YARN knows. */
  void end(RMContainer container, ContainerStatus status, RMContainerEventType event) {
    readLock.lock();
    try {
      scheduler.completedContainer(container, status, event);
    } finally {
      readLock.unlock();
    }
    scheduler.signal();
  }

  /** Handles a container that YARN has ended. */
  void completed(RMContainer container, ContainerStatus status, RMContainerEventType event) {
    readLock.lock();
    try {
      ContainerId id = container.getContainerId();
      LoomcardAttempt attempt = scheduler.getCurrentAttemptForContainer(id);
      if (attempt == null) {
        LOG.info("Container {} of an unknown application ended: {}", id, event);
        return;
      }
      LoomcardNode node = scheduler.nodeTracker().getNode(container.getContainer().getNodeId());
      String partition = node == null ? "" : node.getPartition();
      if (attempt.containerCompleted(container, status, event, partition)) {
        attempt.application().charges().end(id);
        HadoopCompat.audit(AuditConstants.RELEASE_CONTAINER, attempt, container.getContainer());
        cluster.containerEnded(id, ContainerEndKind.of(status, event), status.getExitStatus());
        for (RMContainer update : cluster.updatesOf(id)) {
          HadoopCompat.clearRequest(update);
          scheduler.completedContainer(update, status, RMContainerEventType.KILL);
        }
      }
      if (node != null) {
        node.releaseContainer(id, false);
      }
      LOG.debug("{} ended: {}", id, event);
    } finally {
      readLock.unlock();
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
    LoomcardAttempt attempt = scheduler.getCurrentAttemptForContainer(container.getContainerId());
    if (attempt != null) {
      attempt.announcePreemption(container.getContainerId());
    }
  }

  void endByPreemption(RMContainer container, String reason) {
    end(container, SchedulerUtils.createPreemptedContainerStatus(container.getContainerId(),
        reason), RMContainerEventType.KILL);
  }
}
