package org.loomcard.yarn.bridge;

import java.util.Collections;
import java.util.stream.Collectors;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.config.ConfigRefusedException;
import org.loomcard.yarn.json.MessageException;
import org.loomcard.yarn.process.PolicyFailureException;
import org.loomcard.yarn.process.RunningPolicy;
import org.loomcard.yarn.process.Watchdog;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.PlanMessage;
import org.loomcard.yarn.wire.PlanReader;

/**
 * Tries a compiled configuration and changes nothing. Its policies decide one round of an empty
 * cluster in a separate process, and the scheduler's state says whether it would take its queues.
 * On the thread of the swaps; rounds continue meanwhile.
 */
public final class DryRun {
  private static final int ROUND = 1;
  private final BridgeConfig config;
  private final SchedulerState scheduler;
  private final Watchdog watchdog;
  private final int resourceTypes;

  public DryRun(BridgeConfig config, SchedulerState scheduler, Watchdog watchdog,
      int resourceTypes) {
    this.config = config;
    this.scheduler = scheduler;
    this.watchdog = watchdog;
    this.resourceTypes = resourceTypes;
  }

  /**
   * Returns the result that an apply of {@code wanted} would have, as far as that can be known
   * before.
   */
  ConfigSwapResult of(RunningPolicy candidate, AppliedConfig wanted, AppliedConfig governing) {
    String wrong = firstRound(candidate, wanted);
    try {
      scheduler.check(wanted.policyConfig);
    } catch (ConfigRefusedException e) {
      return ConfigSwapResult.refused(wrong == null ? e : new ConfigRefusedException(e.getMessage()
          + " Besides, " + wrong, e.applications()), governing);
    }
    return wrong == null ? ConfigSwapResult.plain(ConfigSwapResult.Outcome.WOULD_APPLY,
        "would apply " + wanted + "; nothing was changed", wanted)
        : ConfigSwapResult.plain(ConfigSwapResult.Outcome.FAILED, wrong + "; nothing was changed",
        governing);
  }

  /** Returns null, or what went wrong. */
  private String firstRound(RunningPolicy candidate, AppliedConfig wanted) {
    BatchWriter batch = new BatchWriter(ROUND, 1, 0);
    batch.snapshot(0, "dry run");
    batch.config(0, wanted.version, wanted.policyConfig);
    batch.saved(0, Collections.<String, String>emptyMap());
    batch.check(0, 0, 0, 0, new long[resourceTypes]);
    String failed = "the first round of the new configuration, on an empty cluster, failed: ";
    try {
      PlanMessage plan = PlanReader.read(watchdog.ask(candidate, batch.finish(),
          config.roundHardDeadlineMs, BridgeConfig.ROUND_HARD_DEADLINE_MS));
      return plan.resync != null ? failed + plan.resync
          : plan.faults.isEmpty() ? null : failed + plan.faults.stream()
              .map(fault -> "the policy of queue " + fault.queue(wanted.policyConfig) + " raised: "
                  + fault.message).collect(Collectors.joining("; "));
    } catch (PolicyFailureException | MessageException e) {
      return failed + e.getMessage();
    }
  }
}
