package org.loomcard.yarn.bridge;

import java.util.Map;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.ConfigRefusedException;
import org.loomcard.yarn.process.Supervisor;
import org.loomcard.yarn.rounds.BridgeCounters;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The course of a swap on the round thread: the first round of the new configuration, the time in
 * which its process decides while it is written, and its end. If anything fails, the earlier tree,
 * saved parts and process continue. Every swap that was begun is answered.
 */
public final class SwapExecution {
  private static final Logger LOG = LoggerFactory.getLogger(SwapExecution.class);
  private final SwapTrial trial;
  private final Supervisor supervisor;
  private final BridgeCounters counters;
  private final Loop loop;
  private SwapTrial.Pending pending;

  /** The part of the round thread that a swap uses. */
  public interface Loop {
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

  public SwapExecution(SwapTrial trial, Supervisor supervisor, BridgeCounters counters, Loop loop) {
    this.trial = trial;
    this.supervisor = supervisor;
    this.counters = counters;
    this.loop = loop;
  }

  /** Whether a configuration that is not written yet decides. */
  public boolean isPending() {
    return pending != null;
  }

  /**
   * The configuration that decides: the one in force, or the one that was tried and is being
   * written.
   */
  public AppliedConfig inForce() {
    return pending == null ? loop.applied() : pending.wanted;
  }

  /** Does what is due between two rounds. */
  public void step(SwapPreparation preparation) {
    if (pending != null && pending.isOver()) {
      complete(0);
    }
    SwapPreparation.Prepared next = pending == null ? preparation.take() : null;
    if (next != null) {
      start(next);
    }
  }

  /** Waits for what is being written, at most {@code withinMs}; no round follows. */
  public void finish(long withinMs) {
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
          "the scheduler's state failed: " + e,
          loop.applied());
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
    AppliedConfig wanted = new AppliedConfig(next.policyConfig, old.version + 1, next.swap.yaml,
        next.swap.user, System.currentTimeMillis());
    Map<String, String> saved = trial.saved();
    String wrong;
    try {
      wrong = trial.run(next.process.policy(), wanted);
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
    pending = trial.keep(next, wanted, loop.current(), saved);
    loop.use(next.process);
    return null;
  }

  private ConfigSwapResult rollBack(AppliedConfig wanted, Map<String, String> saved, String wrong) {
    AppliedConfig old = loop.applied();
    AppliedConfig governs = trial.takeBack(wanted, old, saved, wrong);
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
    SwapTrial.Pending done = pending;
    String wrong = done.whyNotWritten(withinMs);
    pending = null;
    ConfigSwapResult result = wrong == null ? ConfigSwapResult.applied(done.wanted)
        : ConfigSwapResult.plain(ConfigSwapResult.Outcome.FAILED, wrong, loop.applied());
    try {
      if (wrong == null) {
        LOG.info("Applied {} in place of {}", done.wanted, loop.applied());
        loop.setApplied(done.wanted);
        counters.swaps++;
        trial.end();
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
  private void restorePrevious(SwapTrial.Pending done) {
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
}
