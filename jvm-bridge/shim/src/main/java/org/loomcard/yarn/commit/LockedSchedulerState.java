package org.loomcard.yarn.commit;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;
import org.loomcard.yarn.policyconfig.ConfigRefusedException;
import org.loomcard.yarn.policyconfig.PolicyConfig;
import org.loomcard.yarn.policyconfig.QueueSpec;
import org.loomcard.yarn.queues.QueueTree;
import org.loomcard.yarn.queues.Reasons;
import org.loomcard.yarn.rounds.CommitReport;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardApplication;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.PlanMessage;

/**
 * YARN's books as the rounds see them; every method takes the scheduler's write lock for what it
 * reads or changes.
 */
public final class LockedSchedulerState implements SchedulerState {
  private final ClusterState ledger;
  private final QueueTree tree;
  private final PlanCommitter committer;
  private final FifoFallback fallback;
  private final ContainerResizes resizes;
  private final Lock writeLock;
  private final BooleanSupplier ready;
  private PlanCommitter.Outcome outcome;
  private volatile boolean outcomeIsNews;
  private final TrialGate gate = new TrialGate();

  /**
   * @param ready whether containers may be granted yet: not in the first seconds after a recovery
   */
  public LockedSchedulerState(ClusterState ledger, QueueTree tree, PlanCommitter committer,
      FifoFallback fallback, ContainerResizes resizes,
      Lock writeLock, BooleanSupplier ready) {
    this.ledger = ledger;
    this.tree = tree;
    this.committer = committer;
    this.fallback = fallback;
    this.resizes = resizes;
    this.writeLock = writeLock;
    this.ready = ready;
  }

  @Override
  public boolean hasNews() {
    return ready.getAsBoolean() && (resizes.areNews() || !ledger.news().isEmpty());
  }

  @Override
  public boolean hasDemand() {
    return resizes.areNews() || ledger.hasDemand();
  }

  @Override
  public boolean hasRefusals() {
    return outcomeIsNews && ready.getAsBoolean();
  }

  @Override
  public void close(BatchWriter out, boolean snapshot) {
    resizes.serve();
    writeLock.lock();
    try {
      resizes.newsGo();
      if (snapshot) {
        ledger.writeSnapshot(out);
      } else {
        writeOutcome(out);
        ledger.writeNews(out);
      }
      outcome = null;
      outcomeIsNews = false;
    } finally {
      writeLock.unlock();
    }
  }

  private void writeOutcome(BatchWriter out) {
    if (outcome != null && outcome.decisions > 0) {
      out.outcomes(out.nowMs(), outcome.round, outcome.firstContainer, outcome.numbers(),
          outcome.refusals);
    }
  }

  @Override
  public CommitReport commit(PlanMessage plan, boolean late) {
    String whyNot = late ? Reasons.LATE : ready.getAsBoolean() ? null : Reasons.STALE;
    outcome = whyNot == null ? committer.commit(plan) : committer.refuse(plan, whyNot);
    outcomeIsNews = !outcome.refusals.isEmpty();
    if (!late) {
      tellHeadroom(plan);
    }
    return new CommitReport(outcome.granted, outcome.preempted, outcome.refused);
  }

  private void tellHeadroom(PlanMessage plan) {
    for (PlanMessage.Headroom headroom : plan.headroom) {
      LoomcardApplication application = ledger.application(headroom.application);
      if (application != null) {
        application.tellHeadroom(headroom.amounts);
      }
    }
  }

  @Override
  public int fallbackRound() {
    if (!ready.getAsBoolean()) {
      return 0;
    }
    writeLock.lock();
    try {
      ledger.holds().sweep(); // no batch does it meanwhile
    } finally {
      writeLock.unlock();
    }
    resizes.serve();
    return fallback.round();
  }

  @Override
  public boolean isFallbackUnfinished() {
    return fallback.isUnfinished();
  }

  private void forgetHeadroom() {
    for (LoomcardApplication application : ledger.applications()) {
      application.tellHeadroom(null);
    }
  }

  @Override
  public void apply(PolicyConfig setup, int version) throws ConfigRefusedException {
    writeLock.lock();
    try {
      refuseIfInTheWay(setup);
      tree.apply(setup);
      ledger.holds().clear();
      forgetHeadroom();
    } finally {
      writeLock.unlock();
    }
  }

  /** Where applications wait for the end of a trial. */
  public TrialGate gate() {
    return gate;
  }

  @Override
  public void beginTrial() {
    writeLock.lock();
    try {
      gate.begin(tree.setup());
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public void endTrial() {
    writeLock.lock();
    try {
      gate.end();
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public void check(PolicyConfig setup) throws ConfigRefusedException {
    writeLock.lock();
    try {
      refuseIfInTheWay(setup);
    } finally {
      writeLock.unlock();
    }
  }

  private void refuseIfInTheWay(PolicyConfig setup) throws ConfigRefusedException {
    List<String> inTheWay = new ArrayList<>();
    List<String> queues = new ArrayList<>();
    for (LoomcardApplication application : ledger.applications()) {
      String path = application.queue().path();
      QueueSpec next = setup.queue(path);
      if (next == null || !next.leaf) {
        inTheWay.add(application.id().toString());
        if (!queues.contains(path)) {
          queues.add(path);
        }
      }
    }
    if (!inTheWay.isEmpty()) {
      throw new ConfigRefusedException("The new set-up has no leaf queue " + String.join(", ",
          queues)
          + ", where applications live: " + String.join(", ", inTheWay)
          + ". Move or end them first.", inTheWay);
    }
  }

  @Override
  public void clearNews() {
    writeLock.lock();
    try {
      ledger.clearNews();
      forgetHeadroom();
      outcome = null;
      outcomeIsNews = false;
    } finally {
      writeLock.unlock();
    }
  }
}
