package org.loomcard.yarn;

import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.Lock;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.loomcard.yarn.amounts.Amounts;
import org.loomcard.yarn.bridge.RoundDriver;
import org.loomcard.yarn.commit.ContainerResizes;
import org.loomcard.yarn.hadoop.HadoopCompat;
import org.loomcard.yarn.policyconfig.BridgeConfig;
import org.loomcard.yarn.queues.Headroom;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.wire.EngineClock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The heartbeat of an application master: takes its requests and returns what it was granted. */
final class AmHeartbeat {
  private static final Logger LOG = LoggerFactory.getLogger(AmHeartbeat.class);
  private final LoomcardScheduler scheduler;
  private final ClusterState cluster;
  private final ContainerResizes resizes;
  private final RoundDriver rounds;
  private final BridgeConfig config;
  private final EngineClock clock;
  private final Lock readLock;

  AmHeartbeat(LoomcardScheduler scheduler, RoundDriver rounds, BridgeConfig config,
      EngineClock clock) {
    this.scheduler = scheduler;
    this.cluster = scheduler.cluster();
    this.resizes = scheduler.resizes();
    this.rounds = rounds;
    this.config = config;
    this.clock = clock;
    this.readLock = scheduler.readLock();
  }

  /** Null for an attempt that has ended. */
  Allocation allocate(LoomcardAttempt attempt, List<ResourceRequest> asks,
      List<ContainerId> releases, List<String> blacklistAdditions, List<String> blacklistRemovals,
      ContainerUpdates updates) {
    AskLimits.check(attempt, asks, config);
    scheduler.normalize(asks, attempt.loomcardQueue().path());
    // The call that asks for the AM's own container must not return it: RMAppAttempt drops what it
    // gets before it is in state SCHEDULED, and the AM would never be launched.
    boolean asksForMaster = attempt.isWaitingForAMContainer() && !asks.isEmpty();
    readLock.lock();
    try {
      if (attempt.isStopped()) {
        LOG.info("Heartbeat of attempt {}, which has ended", attempt.getApplicationAttemptId());
        return null;
      }
      if (!attempt.isWaitingForAMContainer()) {
        cluster.attemptCalled(attempt);
      }
      if (updates != null) {
        resizes.replaced(attempt, updates);
        scheduler.updateContainers(attempt, updates);
        resizes.asked(attempt, updates);
      }
      scheduler.release(attempt, releases);
      if (!asks.isEmpty()) {
        attempt.updateResourceRequests(asks);
      }
      attempt.updateBlacklist(blacklistAdditions, blacklistRemovals);
    } finally {
      readLock.unlock();
    }
    if (!asks.isEmpty()) {
      rounds.signalDemand();
    } else if (scheduler.hasPendingEvents()) {
      rounds.signal();
    }
    return answer(attempt, asksForMaster
        ? Collections.emptyList() : attempt.pullNewlyAllocatedContainers());
  }

  private Allocation answer(LoomcardAttempt attempt, List<Container> containers) {
    Resource headroom = headroom(attempt);
    attempt.setHeadroom(headroom);
    attempt.setApplicationHeadroomForMetrics(headroom);
    readLock.lock();
    try {
      // Decreases first: pulling an increase makes YARN forget a decrease of the same container,
      // and every later pull of that one would fail.
      List<Container> decreased = attempt.pullNewlyDecreasedContainers();
      List<Container> demoted = attempt.pullNewlyDemotedContainers();
      long now = clock.nowMs();
      containers.forEach(container -> cluster.containerFetched(container.getId(), now));
      resizes.shrunk(attempt, decreased, demoted);
      List<Container> increased = attempt.pullNewlyIncreasedContainers();
      List<Container> promoted = attempt.pullNewlyPromotedContainers();
      resizes.fetched(attempt, increased, promoted);
      return HadoopCompat.allocation(attempt, containers, headroom, increased, decreased, promoted,
          demoted);
    } finally {
      readLock.unlock();
    }
  }

  /** The policy's figure; else what the queue's maxima, the user's limit and the nodes leave. */
  private Resource headroom(LoomcardAttempt attempt) {
    long[] stated = attempt.application().policyHeadroom();
    return Amounts.toResource(stated != null ? stated : Headroom.of(attempt.loomcardQueue(),
        attempt.getUser(), attempt.labels(), scheduler.queues().partitions()));
  }
}
