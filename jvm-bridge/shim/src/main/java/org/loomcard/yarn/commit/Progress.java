package org.loomcard.yarn.commit;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Lock;
import java.util.function.LongSupplier;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.hadoop.YarnRecords;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.rounds.StalledAsk;
import org.loomcard.yarn.rounds.WaitReasons;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardApplication;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;
import org.loomcard.yarn.wire.PlanMessage;

/**
 * Finds asks that a policy leaves waiting although they could be served, and serves their queues.
 *
 * <p>An ask is stalled when all of this was true for a whole deadline: it got no container, no rule
 * that the policy states kept it waiting, and at each look it fitted on a node within all limits.
 * Also, on at least one node the room for it must have stayed free all the time, and no look may
 * have come after a plan that was as large as plans may be: then an ask can wait for the next plan,
 * however long the policy takes to fill a large cluster. A stated rule is not believed for ever: an
 * application that has only its AM is kept waiting for {@code longestWaitMs} at most.
 *
 * <p>A look costs as much as a round of the {@link FifoFallback}, and has its bounds. For one
 * thread.
 */
public final class Progress {
  private static final long NOT = -1;
  private final ClusterState cluster;
  private final PlanCommitter committer;
  private final long deadlineMs;
  private final long longestWaitMs;
  private final IdleRoom idle = new IdleRoom(BridgeConfig.PROGRESS_LOOKS, Amounts.names().length);
  private final Map<LoomcardAttempt, Map<SchedulerRequestKey, Waiting>> known = new HashMap<>();
  private final Look look = new Look();
  private final Confirmation confirmation = new Confirmation();
  private final Service service = new Service();
  private final FifoFallback looking;
  private final FifoFallback confirming;
  private final FifoFallback serving;
  private long pass;
  private long nowMs;
  /** When the last look was. */
  private long lookedMs = NOT;
  private WaitReasons waits;

  /** @param least nodes with less room than this are skipped */
  public Progress(ClusterState cluster, PlanCommitter committer, Resource least, Lock writeLock,
      LongSupplier nanoTime, BridgeConfig config) {
    this.cluster = cluster;
    this.committer = committer;
    this.deadlineMs = config.progressDeadlineMs;
    this.longestWaitMs = config.progressLongestWaitMs;
    this.looking = new FifoFallback(cluster, look, least, writeLock, nanoTime);
    this.confirming = new FifoFallback(cluster, confirmation, least, writeLock, nanoTime);
    this.serving = new FifoFallback(cluster, service, least, writeLock, nanoTime);
  }

  /** Returns the stalled asks found now, at most one of each queue. */
  List<StalledAsk> look(long atMs, WaitReasons stated) {
    if (!cluster.hasDemand()) {
      forget();
      return new ArrayList<>();
    }
    nowMs = atMs;
    waits = stated;
    idle.tick(cluster.nodes());
    look.overdue = false;
    looking.round();
    if (!looking.isUnfinished()) {
      dropUnseen();
      pass++;
    }
    confirmation.found.clear();
    if (look.overdue) {
      confirming.round();
    }
    lookedMs = atMs;
    return new ArrayList<>(confirmation.found.values());
  }

  /** Forgets all waiting times: no ask waits, or the fallback serves. */
  void forget() {
    known.clear();
    idle.clear();
  }

  /**
   * Allocates what fits to the asks of these queues that no stated rule keeps waiting; returns how
   * many containers.
   */
  int serve(Set<String> queues, long atMs, WaitReasons stated) {
    nowMs = atMs;
    waits = stated;
    service.queues = queues;
    return serving.round();
  }

  private void dropUnseen() {
    for (Iterator<Map<SchedulerRequestKey, Waiting>> all = known.values().iterator();
        all.hasNext();) {
      Map<SchedulerRequestKey, Waiting> asks = all.next();
      asks.values().removeIf(waiting -> waiting.seen != pass);
      if (asks.isEmpty()) {
        all.remove();
      }
    }
  }

  private Waiting waiting(LoomcardAttempt attempt, SchedulerRequestKey key) {
    return known.computeIfAbsent(attempt, added -> new HashMap<>())
        .computeIfAbsent(key, added -> new Waiting());
  }

  /**
   * Whether the policy states a rule that keeps the ask waiting, and may still be believed.
   *
   * @param byShare whether to believe it without a limit when the application has a container: its
   *     share
   */
  private boolean isKept(LoomcardAttempt attempt, SchedulerRequestKey key, boolean byShare) {
    long untilMs = waits.untilMs(attempt.number(), key.getPriority().getPriority(),
        key.getAllocationRequestId());
    for (LoomcardQueue queue = attempt.loomcardQueue(); queue != null; queue = queue.parent()) {
      PlanMessage.QueueWait wait = waits.of(queue.number());
      untilMs = wait == null ? untilMs : Math.max(untilMs, wait.untilMs);
    }
    if (untilMs <= nowMs) {
      return false;
    }
    Waiting waiting = waiting(attempt, key);
    waiting.seen = pass;
    if (waiting.keptSinceMs == NOT || waiting.keptSinceMs < attempt.servedMs(key)) {
      waiting.keptSinceMs = nowMs;
    }
    return nowMs - waiting.keptSinceMs < longestWaitMs || byShare && holdsMoreThanItsAm(attempt);
  }

  private static boolean holdsMoreThanItsAm(LoomcardAttempt attempt) {
    for (RMContainer container : attempt.getLiveContainers()) {
      if (!container.isAMContainer()) {
        return true;
      }
    }
    return false;
  }

  /** What is known of one ask. */
  private static final class Waiting {
    /** Since when every look has found room for it; or {@link #NOT}. */
    private long fitsSinceMs = NOT;
    /** Since when a rule has kept it waiting, with or without breaks; or {@link #NOT}. */
    private long keptSinceMs = NOT;
    private long seen = NOT;
  }

  /** Notes which asks fit on a node now. */
  private final class Look implements FifoFallback.Task {
    private boolean fits;
    private boolean overdue;

    @Override
    public boolean serves(LoomcardAttempt attempt, SchedulerRequestKey key) {
      fits = false;
      boolean kept = isKept(attempt, key, true);
      Waiting waiting = waiting(attempt, key);
      // Most asks are served before the next look, so the nodes need not be read for them.
      boolean young = waiting.seen == NOT || attempt.servedMs(key) > lookedMs || waits.isBusy();
      waiting.seen = pass;
      if (kept || young) {
        waiting.fitsSinceMs = NOT;
      }
      return !kept && !young;
    }

    @Override
    public String allocate(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node) {
      String refusal = committer.refusal(attempt, key, node);
      fits |= refusal == null;
      return refusal == null ? FifoFallback.ENOUGH : refusal;
    }

    @Override
    public void looked(LoomcardAttempt attempt, SchedulerRequestKey key) {
      Waiting waiting = waiting(attempt, key);
      if (!fits) {
        waiting.fitsSinceMs = NOT;
        return;
      }
      if (waiting.fitsSinceMs == NOT) {
        waiting.fitsSinceMs = nowMs;
      }
      waiting.fitsSinceMs = Math.max(waiting.fitsSinceMs, attempt.servedMs(key));
      overdue |= nowMs - waiting.fitsSinceMs >= deadlineMs;
    }
  }

  /**
   * Of the asks that have waited too long, finds the first of each queue for which room stayed
   * free.
   */
  private final class Confirmation implements FifoFallback.Task {
    private final Map<LoomcardQueue, StalledAsk> found = new HashMap<>();

    @Override
    public boolean serves(LoomcardApplication application) {
      return !found.containsKey(application.queue()) && known.containsKey(application.attempt());
    }

    @Override
    public boolean serves(LoomcardAttempt attempt, SchedulerRequestKey key) {
      Waiting waiting = known.get(attempt).get(key);
      return !found.containsKey(attempt.loomcardQueue()) && waiting != null
          && waiting.fitsSinceMs != NOT && nowMs - waiting.fitsSinceMs >= deadlineMs;
    }

    @Override
    public long[] room(LoomcardNode node) {
      return idle.of(node);
    }

    @Override
    public String allocate(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node) {
      String refusal = committer.refusal(attempt, key, node);
      if (refusal != null) {
        return refusal;
      }
      found.put(attempt.loomcardQueue(), stalled(attempt, key, node));
      return FifoFallback.ENOUGH;
    }

    private StalledAsk stalled(LoomcardAttempt attempt, SchedulerRequestKey key,
        LoomcardNode node) {
      int priority = key.getPriority().getPriority();
      return new StalledAsk(attempt.loomcardQueue().path(),
          attempt.getApplicationId().toString(), priority, key.getAllocationRequestId(),
          String.valueOf(attempt.getPendingAsk(key, ResourceRequest.ANY)
              .getPerAllocationResource()),
          node.getNodeID().toString(), nowMs - waiting(attempt, key).fitsSinceMs,
          waits.reason(attempt.number(), priority, key.getAllocationRequestId()),
          message -> diagnose(attempt, message));
    }
  }

  private static void diagnose(LoomcardAttempt attempt, String message) {
    RMAppAttempt app = attempt.appAttempt();
    if (app != null) {
      YarnRecords.diagnose(app, message);
    }
  }

  /** Serves some queues. */
  private final class Service implements FifoFallback.Task {
    private Set<String> queues = new HashSet<>();

    @Override
    public boolean serves(LoomcardApplication application) {
      return queues.contains(application.queue().path());
    }

    @Override
    public boolean serves(LoomcardAttempt attempt, SchedulerRequestKey key) {
      return !isKept(attempt, key, false); // what this round allocates to it is not its share
    }

    @Override
    public String allocate(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node) {
      return committer.allocateByFallback(attempt, key, node);
    }
  }
}
