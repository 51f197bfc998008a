package org.loomcard.yarn.bridge;

import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.ConfigRefusedException;
import org.loomcard.yarn.config.PolicyConfigStore;
import org.loomcard.yarn.process.PolicyFailureException;
import org.loomcard.yarn.process.RunningPolicy;
import org.loomcard.yarn.process.Supervisor;
import org.loomcard.yarn.rounds.PolicyRounds;
import org.loomcard.yarn.rounds.RoundResult;
import org.loomcard.yarn.rounds.SchedulerState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A new configuration from its first round until it is kept, and the way back. It runs on the round
 * thread. Only the writing is on another one, while the new process decides already: a disk may be
 * slow, or hang.
 */
public final class SwapTrial {
  private static final Logger LOG = LoggerFactory.getLogger(SwapTrial.class);
  private final SchedulerState scheduler;
  private final PolicyConfigStore store;
  private final PolicyRounds rounds;
  private final Supervisor supervisor;
  private final Runnable onWritten;

  /** A configuration whose first round was good, while it is written. */
  static final class Pending {
    final SwapPreparation.Prepared next;
    final AppliedConfig wanted;
    /** The process that decided before, or null; it waits until this one is kept. */
    final Supervisor.Started before;
    final Map<String, String> saved;
    private final CompletableFuture<String> written = new CompletableFuture<>();

    private Pending(SwapPreparation.Prepared next, AppliedConfig wanted, Supervisor.Started before,
        Map<String, String> saved) {
      this.next = next;
      this.wanted = wanted;
      this.before = before;
      this.saved = saved;
    }

    boolean isOver() {
      return written.isDone();
    }

    /**
     * Waits until it is written, at most {@code withinMs}. Returns null when it is, otherwise why
     * not.
     */
    String whyNotWritten(long withinMs) {
      try {
        String wrong = written.get(withinMs, TimeUnit.MILLISECONDS);
        return wrong.isEmpty() ? null : wrong;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return "interrupted while it was written";
      } catch (Exception e) {
        return "it is not written yet";
      }
    }
  }

  /** @param onWritten called when a configuration is written, or could not be */
  public SwapTrial(SchedulerState scheduler, PolicyConfigStore store, PolicyRounds rounds,
      Supervisor supervisor, Runnable onWritten) {
    this.scheduler = scheduler;
    this.store = store;
    this.rounds = rounds;
    this.supervisor = supervisor;
    this.onWritten = onWritten;
  }

  /** The parts that the policies saved until now, to restore them if the trial fails. */
  Map<String, String> saved() {
    return new TreeMap<>(rounds.saved());
  }

  /**
   * Gives the scheduler's state the new tree and lets the candidate decide one round.
   *
   * @return null, or why it failed; the caller must then take back the scheduler's state and the
   *     saved parts
   * @throws ConfigRefusedException when nothing has changed yet
   */
  String run(RunningPolicy candidate, AppliedConfig wanted) throws ConfigRefusedException {
    scheduler.beginTrial();
    try {
      scheduler.apply(wanted.policyConfig, wanted.version);
    } catch (ConfigRefusedException e) {
      scheduler.endTrial();
      throw e;
    }
    rounds.forgetOutside(wanted.policyConfig);
    rounds.snapshotNext("swap to version " + wanted.version);
    try {
      RoundResult end = rounds.runTrial(candidate, wanted);
      return end.bad != null ? end.bad : end.fault;
    } catch (PolicyFailureException e) {
      return e.getMessage();
    }
  }

  /** Starts to write it; rounds continue meanwhile. */
  Pending keep(SwapPreparation.Prepared next, AppliedConfig wanted, Supervisor.Started before,
      Map<String, String> saved) {
    Pending pending = new Pending(next, wanted, before, saved);
    supervisor.runLater(() -> {
      String wrong = "it cannot be kept";
      try {
        store.apply(wanted);
        wrong = "";
      } catch (IOException e) {
        wrong = "it cannot be kept: " + e;
      } finally {
        pending.written.complete(wrong);
        onWritten.run();
      }
    });
    return pending;
  }

  /** Ends the trial: the configuration is written, and stays in force. */
  void end() {
    scheduler.endTrial();
  }

  /**
   * Restores the old tree and what was saved under it.
   *
   * @return what is in force now: {@code old}, as no application entered a queue that only the new
   *     tree has; the tried one only if the scheduler's state refuses the old one nevertheless
   */
  AppliedConfig takeBack(AppliedConfig wanted, AppliedConfig old, Map<String, String> saved,
      String wrong) {
    rounds.restore(saved);
    rounds.snapshotNext("the configuration of version " + old.version + " governs again");
    try {
      scheduler.apply(old.policyConfig, old.version);
      LOG.warn("{} was tried and taken back: {}", wanted, wrong);
      return old;
    } catch (ConfigRefusedException e) {
      LOG.error("{} was tried and cannot be taken back; a restart brings back {}", wanted, old, e);
      return wanted;
    } finally {
      scheduler.endTrial();
    }
  }
}
