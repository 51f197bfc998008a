package org.loomcard.yarn;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.util.AutoCloseableLock;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.bridge.RoundDriver;
import org.loomcard.yarn.commit.ContainerResizes;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.hadoop.DelegatingScheduler;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.hadoop.LabelMetrics;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.Headroom;
import org.loomcard.yarn.queues.QueueTree;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;
import org.loomcard.yarn.wire.EngineClock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The heartbeat of an application master: takes its requests and returns its new containers. */
final class AmHeartbeat {
  private static final Logger LOG = LoggerFactory.getLogger(AmHeartbeat.class);
  /** How many containers are given back each time the scheduler's lock is taken. */
  private static final int SLICE = 500;
  /** How many rows are taken in each time the lock is taken; the rows of one ask stay together. */
  private static final int ROWS = 2000;
  private final DelegatingScheduler<LoomcardAttempt, LoomcardNode> yarn;
  private final ClusterState cluster;
  private final QueueTree tree;
  private final ContainerResizes resizes;
  private final RoundDriver rounds;
  private final SchedulerState state;
  private final AskLimits limits;
  private final EngineClock clock;
  private final AutoCloseableLock readLock;

  AmHeartbeat(DelegatingScheduler<LoomcardAttempt, LoomcardNode> yarn, ClusterState cluster,
      QueueTree tree, ContainerResizes resizes, RoundDriver rounds, SchedulerState state,
      BridgeConfig config, EngineClock clock) {
    this.yarn = yarn;
    this.cluster = cluster;
    this.tree = tree;
    this.resizes = resizes;
    this.rounds = rounds;
    this.state = state;
    this.limits = new AskLimits(config);
    this.clock = clock;
    this.readLock = yarn.readLock();
  }

  /** Returns null for an attempt that has ended. */
  Allocation allocate(LoomcardAttempt attempt, List<ResourceRequest> requested,
      List<ContainerId> releases, List<String> blacklistAdditions, List<String> blacklistRemovals,
      ContainerUpdates updates) {
    List<ResourceRequest> asks = attempt.isWaitingForAMContainer()
        ? limits.ofMaster(attempt, requested) : requested;
    yarn.normalize(asks, attempt.loomcardQueue().path());
    limits.check(attempt, asks, blacklistAdditions, blacklistRemovals);
    // The call that requests the AM's own container must not return it: RMAppAttempt drops what it
    // gets before it is in state SCHEDULED, and the AM would never be launched.
    boolean asksForMaster = attempt.isWaitingForAMContainer() && !asks.isEmpty();
    List<List<ResourceRequest>> slices = slices(asks);
    try (AutoCloseableLock held = readLock.acquire()) {
      if (attempt.isStopped()) {
        LOG.info("Heartbeat of attempt {}, which has ended", attempt.getApplicationAttemptId());
        return null;
      }
      if (!attempt.isWaitingForAMContainer()) {
        cluster.attemptCalled(attempt);
      }
      if (updates != null) {
        resizes.replaced(attempt, updates);
        yarn.updateContainers(attempt, updates);
        resizes.asked(attempt, updates);
      }
      release(attempt, releases, 0);
      if (!asks.isEmpty()) {
        yarn.correct(attempt, asks);
        attempt.updateAsks(slices.get(0));
      }
      attempt.updateBlacklist(blacklistAdditions, blacklistRemovals);
    }
    takeRest(attempt, slices, releases);
    if (!asks.isEmpty()) {
      rounds.signalDemand();
    } else if (state.hasPendingEvents()) {
      rounds.signal();
    }
    return answer(attempt, asksForMaster
        ? Collections.emptyList() : attempt.pullNewlyAllocatedContainers());
  }

  /** Handles the lists after their first slice. Other threads get the lock between slices. */
  private void takeRest(LoomcardAttempt attempt, List<List<ResourceRequest>> slices,
      List<ContainerId> releases) {
    for (int i = 1; i < slices.size(); i++) {
      try (AutoCloseableLock held = readLock.acquire()) {
        if (!attempt.isStopped()) {
          attempt.updateAsks(slices.get(i));
        }
      }
    }
    for (int start = SLICE; start < releases.size(); start += SLICE) {
      try (AutoCloseableLock held = readLock.acquire()) {
        release(attempt, releases, start);
      }
    }
  }

  /** Keeps the rows of one ask together: the policy must not see half of an ask. */
  private static List<List<ResourceRequest>> slices(List<ResourceRequest> asks) {
    if (asks.size() <= ROWS) {
      return Collections.singletonList(asks);
    }
    Map<SchedulerRequestKey, List<ResourceRequest>> byKey = new LinkedHashMap<>();
    for (ResourceRequest ask : asks) {
      byKey.computeIfAbsent(SchedulerRequestKey.create(ask), key -> new ArrayList<>()).add(ask);
    }
    List<List<ResourceRequest>> slices = new ArrayList<>();
    List<ResourceRequest> last = null;
    for (List<ResourceRequest> rows : byKey.values()) {
      if (last == null || last.size() + rows.size() > ROWS) {
        last = new ArrayList<>();
        slices.add(last);
      }
      last.addAll(rows);
    }
    return slices;
  }

  private void release(LoomcardAttempt attempt, List<ContainerId> releases, int start) {
    yarn.release(attempt, releases.subList(start, Math.min(start + SLICE, releases.size())));
  }

  private Allocation answer(LoomcardAttempt attempt, List<Container> containers) {
    Resource headroom = headroom(attempt);
    attempt.setHeadroom(headroom);
    attempt.setApplicationHeadroomForMetrics(headroom);
    LabelMetrics.availableTo(attempt.loomcardQueue().getMetrics(), attempt.getUser(), headroom);
    try (AutoCloseableLock held = readLock.acquire()) {
      // Decreases first: pulling an increase makes YARN forget a decrease of the same container.
      // Every later pull of that decrease would fail.
      List<Container> decreased = attempt.pullNewlyDecreasedContainers();
      List<Container> demoted = attempt.pullNewlyDemotedContainers();
      long now = clock.nowMs();
      containers.forEach(container -> cluster.containerFetched(container.getId(), now));
      resizes.shrunk(attempt, decreased, demoted);
      List<Container> increased = attempt.pullNewlyIncreasedContainers();
      List<Container> promoted = attempt.pullNewlyPromotedContainers();
      resizes.fetched(attempt, increased, promoted);
      return HadoopCalls.allocation(attempt, containers, headroom, increased, decreased, promoted,
          demoted);
    }
  }

  /**
   * Returns the policy's figure; without one, what the queue's maxima, the user's limit and the
   * nodes leave.
   */
  private Resource headroom(LoomcardAttempt attempt) {
    long[] stated = attempt.application().policyHeadroom();
    return Amounts.toResource(stated != null ? stated : Headroom.of(attempt.loomcardQueue(),
        attempt.getUser(), attempt.labels(), tree.partitions()));
  }
}
