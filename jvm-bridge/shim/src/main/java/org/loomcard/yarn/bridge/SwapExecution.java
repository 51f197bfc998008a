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
import org.loomcard.yarn.rounds.BridgeCounters;
import org.loomcard.yarn.rounds.PolicyRounds;
import org.loomcard.yarn.rounds.RoundResult;
import org.loomcard.yarn.rounds.SchedulerState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The course of a swap on the round thread: the first round of the new configuration, the time in
 * which its process decides while it is written, and its end. If anything fails, the earlier tree,
 * saved parts and process continue. Every swap that was begun is answered. Only the writing is on
 * another thread: a disk may be slow, or hang.
 */
final class SwapExecution {
  private static final Logger LOG = LoggerFactory.getLogger(SwapExecution.class);
  private final SchedulerState scheduler;
  private final PolicyConfigStore store;
  private final PolicyRounds rounds;
  private final Supervisor supervisor;
  private final BridgeCounters counters;
  private final Loop loop;
  private final Runnable onWritten;
  private Pending pending;

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

  /** The part of the round thread that a swap uses. */
  interface Loop {
    /** The configuration in force. */
    AppliedConfig applied();

    /** Puts this configuration into force. */
    void setApplied(AppliedConfig next);

    /** The process that decides, or null. */
    Supervisor.Started current();

    /** Makes this process decide from now on. */
    void use(Supervisor.Started next);

    /** Ends the decisions of any process; the fallback serves. */
    void dropCurrent();

    /** Notes that the process that decides cannot be used any more. */
    void failed(String reason);

    /** Whether the end of a process may have nothing to do with the configuration. */
    boolean isStopping();

    /** Notes that a wait for a policy has ended. */
    void answered();
  }

  /** @param onWritten called when a configuration is written, or could not be */
  SwapExecution(SchedulerState scheduler, PolicyConfigStore store, PolicyRounds rounds,
      Supervisor supervisor, BridgeCounters counters, Loop loop, Runnable onWritten) {
    this.scheduler = scheduler;
    this.store = store;
    this.rounds = rounds;
    this.supervisor = supervisor;
    this.counters = counters;
    this.loop = loop;
    this.onWritten = onWritten;
  }

  /** Whether a configuration that is not written yet decides. */
  boolean isPending() {
    return pending != null;
  }

  /**
   * The configuration that decides: the one in force, or the one that was tried and is being
   * written.
   */
  AppliedConfig inForce() {
    return pending == null ? loop.applied() : pending.wanted;
  }

  /** Does what is due between two rounds. */
  void step(SwapPreparation preparation) {
    if (pending != null && pending.isOver()) {
      complete(0);
    }
    SwapPreparation.Prepared next = pending == null ? preparation.take() : null;
    if (next != null) {
      start(next);
    }
  }

  /** Waits for what is being written, at most {@code withinMs}; no round follows. */
  void finish(long withinMs) {
    if (pending != null) {
      complete(withinMs);
    }
  }

  private void start(SwapPreparation.Prepared next) {
    ConfigSwapResult result = ConfigSwapResult.plain(ConfigSwapResult.Outcome.UNAVAILABLE,
        "too late: nothing changed", loop.applied());
    try {
      result = next.swap.begin() ? runTrial(next) : result;
    } catch (RuntimeException | Error e) {
      result = ConfigSwapResult.plain(ConfigSwapResult.Outcome.FAILED,
          "the scheduler's state failed: " + e, loop.applied());
      throw e;
    } finally {
      loop.answered();
      if (result != null) {
        supervisor.endLater(next.process);
        next.swap.finish(result);
      }
    }
  }

  /**
   * Tries a configuration. Returns null if the first round was good; then the configuration is
   * being written.
   */
  private ConfigSwapResult runTrial(SwapPreparation.Prepared next) {
    AppliedConfig old = loop.applied();
    AppliedConfig wanted = new AppliedConfig(
        next.policyConfig.withCreatedOf(old.policyConfig), old.version + 1, next.swap.yaml,
        next.swap.user, System.currentTimeMillis());
    Map<String, String> saved = new TreeMap<>(rounds.saved());
    String wrong;
    try {
      wrong = firstRound(next.process.policy(), wanted);
    } catch (ConfigRefusedException e) {
      return ConfigSwapResult.refused(e, old);
    } catch (RuntimeException | Error e) {
      LOG.error("The trial of {} failed in the scheduler's state", wanted, e);
      wrong = "the scheduler's state failed: " + e;
    }
    if (wrong != null) {
      return rollBack(wanted, saved, "the first round of the new configuration failed: " + wrong
          + (loop.isStopping() ? " (" + SwapPreparation.STOPPING + ")" : ""));
    }
    pending = keep(next, wanted, loop.current(), saved);
    loop.use(next.process);
    return null;
  }

  /**
   * Gives the scheduler's state the new tree and lets the candidate decide one round.
   *
   * @return null, or why it failed; the caller must then take back the scheduler's state and the
   *     saved parts
   * @throws ConfigRefusedException when nothing has changed yet
   */
  private String firstRound(RunningPolicy candidate, AppliedConfig wanted)
      throws ConfigRefusedException {
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
  private Pending keep(SwapPreparation.Prepared next, AppliedConfig wanted,
      Supervisor.Started before, Map<String, String> saved) {
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

  private ConfigSwapResult rollBack(AppliedConfig wanted, Map<String, String> saved, String wrong) {
    AppliedConfig old = loop.applied();
    AppliedConfig governs = takeBack(wanted, old, saved, wrong);
    loop.setApplied(governs);
    if (governs == old) {
      return ConfigSwapResult.plain(ConfigSwapResult.Outcome.FAILED, wrong + "; " + old
          + " governs as before", old);
    }
    if (loop.current() != null) {
      loop.failed(wrong);
    }
    return ConfigSwapResult.plain(ConfigSwapResult.Outcome.FAILED, wrong
        + "; yet it cannot be taken back; a "
        + "restart brings back " + old, governs);
  }

  /**
   * Puts the configuration that was tried into force once it is written, or rolls it back if it
   * cannot be.
   */
  private void complete(long withinMs) {
    Pending done = pending;
    String wrong = done.whyNotWritten(withinMs);
    pending = null;
    ConfigSwapResult result = wrong == null ? ConfigSwapResult.applied(done.wanted)
        : ConfigSwapResult.plain(ConfigSwapResult.Outcome.FAILED, wrong, loop.applied());
    try {
      if (wrong == null) {
        LOG.info("Applied {} in place of {}", done.wanted, loop.applied());
        loop.setApplied(done.wanted);
        counters.swaps++;
        scheduler.endTrial();
      } else {
        result = rollBack(done.wanted, done.saved, wrong);
        restorePrevious(done);
      }
    } finally {
      if (done.before != null && done.before != loop.current()) {
        supervisor.endLater(done.before);
      }
      done.next.swap.finish(result);
    }
  }

  /** Makes the earlier process decide again, unless another one was started meanwhile. */
  private void restorePrevious(Pending done) {
    boolean tried = loop.current() == done.next.process;
    if (tried) {
      supervisor.endLater(done.next.process);
      loop.dropCurrent();
    }
    if (loop.current() == null && done.before != null) {
      loop.use(done.before);
    } else if (tried) { // there was no earlier one
      supervisor.startAfter(0);
    }
  }

  /**
   * Restores the old tree and what was saved under it.
   *
   * @return what is in force now: {@code old}, as no application entered a queue that only the new
   *     tree has; the tried one only if the scheduler's state refuses the old one nevertheless
   */
  private AppliedConfig takeBack(AppliedConfig wanted, AppliedConfig old, Map<String, String> saved,
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
