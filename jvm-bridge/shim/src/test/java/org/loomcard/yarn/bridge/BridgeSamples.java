package org.loomcard.yarn.bridge;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.ConfigRefusedException;
import org.loomcard.yarn.rounds.BridgeCounters;
import org.loomcard.yarn.rounds.PolicyFault;
import org.loomcard.yarn.rounds.QueueStall;
import org.loomcard.yarn.rounds.WaitReasons;

/** Statuses and ends of swaps that no bridge produced, for tests of the code that shows them. */
public final class BridgeSamples {
  private BridgeSamples() {
  }

  /** A bridge that failed once, is up again, and has run almost 812 rounds. */
  public static BridgeStatus status(AppliedConfig applied, Map<String, String> reports) {
    return status(applied, reports, true);
  }

  /** The same bridge, with a choice whether it is up again. */
  public static BridgeStatus status(AppliedConfig applied, Map<String, String> reports,
      boolean recovered) {
    BridgeCounters counters = new BridgeCounters();
    counters.rounds = 812;
    counters.lastRoundMicros = 3250;
    counters.allocated = 96;
    counters.countFallback(4);
    counters.failures = 1;
    counters.starts = 2;
    return new BridgeStatus(recovered ? BridgeStatus.State.UP : BridgeStatus.State.FALLBACK, 5000,
        applied, counters, "no reply for 10000 ms",
        recovered ? 5000 : BridgeStatus.NOT_RECOVERED, "process 4711",
        recovered ? "loomcard 0.1.0, compiled, Python 3.11.2" : "", () -> reports,
        new WaitReasons(), Collections.<PolicyFault>emptyList(),
        Collections.singletonList(new QueueStall("root.a", 4000, 64000, 2, "1 ask waited")));
  }

  public static ConfigSwapResult applied(AppliedConfig governing) {
    return ConfigSwapResult.applied(governing);
  }

  public static ConfigSwapResult findings(List<ConfigSwapResult.Finding> findings,
      AppliedConfig governing) {
    return ConfigSwapResult.findings(findings, governing);
  }

  public static ConfigSwapResult refused(String message, List<String> applications,
      AppliedConfig governing) {
    return ConfigSwapResult.refused(new ConfigRefusedException(message, applications), governing);
  }

  public static ConfigSwapResult plain(ConfigSwapResult.Outcome outcome, String message,
      AppliedConfig governing) {
    return ConfigSwapResult.plain(outcome, message, governing);
  }
}
