package org.loomcard.yarn.commit;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.util.AutoCloseableLock;
import org.loomcard.yarn.config.ConfigRefusedException;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.config.QueueSpec;
import org.loomcard.yarn.queues.AutoQueues;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.queues.QueueTree;
import org.loomcard.yarn.queues.ReasonCodes;
import org.loomcard.yarn.rounds.CommitReport;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.rounds.StalledAsk;
import org.loomcard.yarn.rounds.WaitReasons;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardApplication;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.PlanMessage;
import org.loomcard.yarn.wire.Records;

/**
 * YARN's state for the rounds. Every method takes the scheduler's write lock for what it reads or
 * changes.
 */
public final class LockedSchedulerState implements SchedulerState {
  private final ClusterState cluster;
  private final QueueTree tree;
  private final PlanCommitter committer;
  private final FifoFallback fallback;
  private final Progress progress;
  private final ContainerResizes resizes;
  private final AutoCloseableLock writeLock;
  private final BooleanSupplier ready;
  private PlanCommitter.Outcome outcome;
  private volatile boolean outcomeIsNews;
  private final TrialGate gate = new TrialGate();
  private final Diagnostics diagnostics = new Diagnostics();
  private final AutoQueues created;

  /**
   * @param ready whether containers may be allocated yet: not in the first seconds after a recovery
   */
  public LockedSchedulerState(ClusterState cluster, QueueTree tree, PlanCommitter committer,
      FifoFallback fallback, Progress progress, ContainerResizes resizes,
      Lock writeLock, BooleanSupplier ready) {
    this.cluster = cluster;
    this.tree = tree;
    this.committer = committer;
    this.fallback = fallback;
    this.progress = progress;
    this.resizes = resizes;
    this.writeLock = new AutoCloseableLock(writeLock);
    this.ready = ready;
    this.created = new AutoQueues(tree);
  }

  @Override
  public boolean hasPendingEvents() {
    return ready.getAsBoolean() && (resizes.hasPending() || !cluster.events().isEmpty());
  }

  @Override
  public boolean hasDemand() {
    return resizes.hasPending() || cluster.hasDemand();
  }

  @Override
  public boolean isUrgent() {
    return resizes.hasPending() || cluster.isUrgent();
  }

  @Override
  public boolean hasRefusals() {
    return outcomeIsNews && ready.getAsBoolean();
  }

  @Override
  public void close(BatchWriter out, boolean snapshot) {
    tree.settle();
    resizes.serve();
    Records records = new Records(out.nowMs());
    try (AutoCloseableLock held = writeLock.acquire()) {
      resizes.eventsSent();
      if (snapshot) {
        cluster.writeSnapshot(records);
      } else {
        cluster.writePendingEvents(records);
      }
    }
    if (!snapshot) {
      writeOutcome(out);
    }
    outcome = null;
    outcomeIsNews = false;
    records.writeTo(out);
  }

  private void writeOutcome(BatchWriter out) {
    if (outcome != null && outcome.decisions > 0) {
      out.outcomes(out.nowMs(), outcome.round, outcome.firstContainer, outcome.numbers(),
          outcome.refusals);
    }
  }

  @Override
  public CommitReport commit(PlanMessage plan, boolean late) {
    String whyNot = late ? ReasonCodes.LATE : ready.getAsBoolean() ? null : ReasonCodes.STALE;
    tree.settle();
    outcome = whyNot == null ? committer.commit(plan) : committer.refuse(plan, whyNot);
    outcomeIsNews = !outcome.refusals.isEmpty();
    cluster.planned();
    if (!late) {
      setPolicyHeadroom(plan);
    }
    return new CommitReport(outcome.allocated, outcome.preempted, outcome.refused);
  }

  private void setPolicyHeadroom(PlanMessage plan) {
    for (PlanMessage.Headroom headroom : plan.headroom) {
      LoomcardApplication application = cluster.application(headroom.application);
      if (application != null) {
        application.setPolicyHeadroom(headroom.amounts);
      }
    }
  }

  @Override
  public int fallbackRound() {
    if (!ready.getAsBoolean()) {
      return 0;
    }
    tree.settle();
    try (AutoCloseableLock held = writeLock.acquire()) {
      cluster.reservations().sweep(); // no batch does it in this time
    }
    resizes.serve();
    progress.forget(); // it serves all that fits, and no look sees what happens meanwhile
    return fallback.round();
  }

  @Override
  public boolean isFallbackUnfinished() {
    return fallback.isUnfinished();
  }

  @Override
  public List<StalledAsk> stalled(long nowMs, WaitReasons waits) {
    return ready.getAsBoolean() ? progress.look(nowMs, waits) : Collections.emptyList();
  }

  @Override
  public int serveStalled(Set<String> queues, long nowMs, WaitReasons waits) {
    return ready.getAsBoolean() ? progress.serve(queues, nowMs, waits) : 0;
  }

  @Override
  public long allocationsByPolicy(String queue) {
    LoomcardQueue leaf = tree.find(queue);
    return leaf == null ? -1 : leaf.allocationsByPolicy();
  }

  private void forgetHeadroom() {
    for (LoomcardApplication application : cluster.applications()) {
      application.setPolicyHeadroom(null);
    }
  }

  @Override
  public void apply(PolicyConfig policyConfig, int version) throws ConfigRefusedException {
    try (AutoCloseableLock held = writeLock.acquire()) {
      refuseIfInTheWay(policyConfig);
      tree.apply(policyConfig);
      cluster.reservations().clear();
      forgetHeadroom();
    }
  }

  /** The gate at which applications wait for the end of a trial. */
  public TrialGate gate() {
    return gate;
  }

  /** The queues that are created for applications. */
  public AutoQueues created() {
    return created;
  }

  @Override
  public PolicyConfig changedQueues(long nowMs) {
    return created.changed(nowMs);
  }

  @Override
  public PolicyConfig begin() {
    try (AutoCloseableLock held = writeLock.acquire()) {
      created.start();
      return tree.policyConfig();
    }
  }

  @Override
  public void beginTrial() {
    try (AutoCloseableLock held = writeLock.acquire()) {
      gate.begin(tree.policyConfig());
    }
  }

  @Override
  public void endTrial() {
    try (AutoCloseableLock held = writeLock.acquire()) {
      gate.end();
    }
  }

  @Override
  public void check(PolicyConfig policyConfig) throws ConfigRefusedException {
    try (AutoCloseableLock held = writeLock.acquire()) {
      refuseIfInTheWay(policyConfig);
    }
  }

  private void refuseIfInTheWay(PolicyConfig policyConfig) throws ConfigRefusedException {
    List<String> inTheWay = new ArrayList<>();
    List<String> queues = new ArrayList<>();
    for (LoomcardApplication application : cluster.applications()) {
      String path = application.queue().path();
      QueueSpec next = policyConfig.queue(path);
      if (next == null || !next.leaf) {
        inTheWay.add(application.id().toString());
        if (!queues.contains(path)) {
          queues.add(path);
        }
      }
    }
    if (!inTheWay.isEmpty()) {
      throw new ConfigRefusedException("The new policy configuration has no leaf queue "
          + String.join(", ", queues)
          + ", where applications live: " + String.join(", ", inTheWay)
          + ". Move or end them first.", inTheWay);
    }
  }

  @Override
  public void clearPendingEvents() {
    try (AutoCloseableLock held = writeLock.acquire()) {
      cluster.clearPendingEvents();
      forgetHeadroom();
      outcome = null;
      outcomeIsNews = false;
    }
  }

  @Override
  public void diagnose(Map<Integer, String> sentences) {
    sentences.forEach((number, sentence) -> {
      LoomcardApplication application = cluster.application(number);
      if (application != null) {
        diagnostics.show(application, sentence);
      }
    });
  }

  @Override
  public void diagnoseAll(String sentence) {
    diagnostics.forgetEnded();
    for (LoomcardApplication application : cluster.applications()) {
      diagnostics.show(application, sentence);
    }
  }

  @Override
  public boolean isDiagnosing() {
    diagnostics.forgetEnded();
    return diagnostics.isShowing();
  }
}
