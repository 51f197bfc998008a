package org.loomcard.yarn.bridge;

import java.util.Collections;
import java.util.List;

/**
 * Tries a compiled configuration and changes nothing: its policies decide one round of an empty
 * cluster in a process of their own, and the books say whether they would take its queues. On the
 * thread of the swaps; rounds go on meanwhile.
 */
final class DryRun {
  private static final int ROUND = 1;
  private final BridgeConfig config;
  private final Books books;
  private final Watchdog watchdog;
  private final int resourceTypes;

  DryRun(BridgeConfig config, Books books, Watchdog watchdog, int resourceTypes) {
    this.config = config;
    this.books = books;
    this.watchdog = watchdog;
    this.resourceTypes = resourceTypes;
  }

  /** What an apply of {@code wanted} would have come to, as far as that can be known before. */
  SwapResult of(RunningPolicy candidate, AppliedSetup wanted, AppliedSetup governing) {
    String wrong = firstRound(candidate, wanted);
    try {
      books.check(wanted.setup);
    } catch (SetupRefusedException e) {
      return SwapResult.refused(wrong == null ? e : new SetupRefusedException(e.getMessage()
          + " Besides, " + wrong, e.applications()), governing);
    }
    return wrong == null ? SwapResult.plain(SwapResult.Outcome.WOULD_APPLY,
        "would apply " + wanted + "; nothing was changed", wanted)
        : SwapResult.plain(SwapResult.Outcome.FAILED, wrong + "; nothing was changed", governing);
  }

  /** Null, or what went wrong. */
  private String firstRound(RunningPolicy candidate, AppliedSetup wanted) {
    BatchWriter batch = new BatchWriter(ROUND, 1, 0);
    batch.snapshot(0, "dry run");
    batch.setup(0, wanted.version, wanted.setup);
    batch.saved(0, Collections.<String, String>emptyMap());
    batch.check(0, 0, 0, 0, new long[resourceTypes]);
    String failed = "the first round of the new configuration, on an empty cluster, failed: ";
    try {
      PlanMessage plan = PlanReader.read(watchdog.ask(candidate, batch.finish(),
          config.roundHardDeadlineMs, BridgeConfig.ROUND_HARD_DEADLINE_MS));
      return plan.resync != null ? failed + plan.resync
          : plan.faults.isEmpty() ? null : failed + told(plan.faults, wanted.setup);
    } catch (PolicyFailureException | MessageException e) {
      return failed + e.getMessage();
    }
  }

  private static String told(List<PlanMessage.Fault> faults, Setup setup) {
    StringBuilder told = new StringBuilder();
    for (PlanMessage.Fault fault : faults) {
      boolean known = fault.instance >= 0 && fault.instance < setup.queues.size();
      told.append(told.length() == 0 ? "" : "; ").append("the policy of queue ")
          .append(known ? setup.queues.get(fault.instance).path : "number " + fault.instance)
          .append(" raised: ").append(fault.message);
    }
    return told.toString();
  }
}
