package org.loomcard.yarn.bridge;

import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.rounds.BridgeCounters;
import org.loomcard.yarn.rounds.PolicyFault;
import org.loomcard.yarn.rounds.QueueStall;
import org.loomcard.yarn.rounds.WaitReasons;

/** The bridge at one moment, immutable, for pages, REST and tests. */
public final class BridgeStatus {
  /** What schedules. */
  public enum State {
    /** Nothing schedules yet: the policy process is starting for the first time. */
    STARTING,
    /** The policy schedules. */
    UP,
    /**
     * The policy, except for queues that it left waiting although it could serve them: there the
     * FIFO.
     */
    STALLED,
    /** The FIFO in Java, since the policy process has not answered in time; it still may. */
    OVERDUE,
    /** The FIFO in Java, until the policy process works again. */
    FALLBACK,
    /** Nothing: the bridge has been stopped. */
    STOPPED
  }

  /** Instead of a time: the policy never failed, or has not worked since. */
  public static final long NOT_RECOVERED = -1;

  public final State state;
  /** When this state began, on the engine's clock. */
  public final long sinceMs;
  public final AppliedConfig applied;
  public final BridgeCounters counters;
  /** Why the fallback served last; empty if it never did. */
  public final String lastFailure;
  /** When the policy worked again after that, on the engine's clock, or {@link #NOT_RECOVERED}. */
  public final long recoveredMs;
  /** Which process answers, or what is being tried. */
  public final String process;
  /** What that process runs; empty while none answers. */
  public final String build;
  private final Supplier<Map<String, String>> reports;
  /** Why asks wait, as the policy states it; it continues to change. */
  public final WaitReasons waits;
  /**
   * What policies raised since this configuration or process began: the last fault of each queue.
   */
  public final List<PolicyFault> faults;
  /** The last stall of each queue that the policy left waiting. */
  public final List<QueueStall> stalls;

  BridgeStatus(State state, long sinceMs, AppliedConfig applied, BridgeCounters counters,
      String lastFailure, long recoveredMs, String process, String build,
      Supplier<Map<String, String>> reports, WaitReasons waits, List<PolicyFault> faults,
      List<QueueStall> stalls) {
    this.state = state;
    this.sinceMs = sinceMs;
    this.applied = applied;
    this.counters = counters;
    this.lastFailure = lastFailure;
    this.recoveredMs = recoveredMs;
    this.process = process;
    this.build = build;
    this.reports = reports;
    this.waits = waits;
    this.faults = faults;
    this.stalls = stalls;
  }

  /**
   * Returns the latest reports of the policies: JSON texts by queue path. While nobody reads them
   * policies report less often, so they may be ten seconds old; for a while after this they are at
   * most a second old.
   */
  public Map<String, String> reports() {
    return reports.get();
  }
}
