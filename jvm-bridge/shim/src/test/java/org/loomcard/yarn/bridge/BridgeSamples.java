package org.loomcard.yarn.bridge;

import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Statuses and ends of swaps that no bridge produced, for tests of what shows them. */
public final class BridgeSamples {
  private BridgeSamples() {
  }

  /** A bridge that is up, failed once, and is about to have run 812 rounds. */
  public static BridgeStatus status(AppliedSetup applied, Map<String, String> reports) {
    BridgeCounters counters = new BridgeCounters();
    counters.rounds = 812;
    counters.lastRoundMicros = 3250;
    counters.granted = 96;
    counters.countFallback(4);
    counters.failures = 1;
    counters.starts = 2;
    return new BridgeStatus(BridgeStatus.State.UP, 5000, applied, counters,
        "no reply for 10000 ms", "process 4711", reports,
        Collections.<PlanMessage.Wait>emptyList(), Collections.<PolicyFault>emptyList());
  }

  public static SwapResult applied(AppliedSetup governing) {
    return SwapResult.applied(governing);
  }

  public static SwapResult findings(List<SwapResult.Finding> findings, AppliedSetup governing) {
    return SwapResult.findings(findings, governing);
  }

  public static SwapResult refused(String message, List<String> applications,
      AppliedSetup governing) {
    return SwapResult.refused(new SetupRefusedException(message, applications), governing);
  }

  public static SwapResult plain(SwapResult.Outcome outcome, String message,
      AppliedSetup governing) {
    return SwapResult.plain(outcome, message, governing);
  }
}
