package org.loomcard.yarn.status;

import java.util.List;
import java.util.Map;
import org.loomcard.yarn.bridge.BridgeStatus;
import org.loomcard.yarn.policyconfig.AppliedConfig;
import org.loomcard.yarn.policyconfig.ApplyToken;
import org.loomcard.yarn.swap.ConfigSwapResult;

/**
 * What the scheduler shows of itself, and the one thing that can be asked of it over the web.
 * Called on web threads, any number at a time; every method answers at once, but {@link #apply} and
 * {@link #dryRun}.
 * Resources are amounts by name ({@code memory_mb}, {@code vcores}, ...).
 */
public interface StatusSource {

  /**
   * The bridge to the policy process, with the policy configuration in force and what policies
   * report.
   */
  BridgeStatus bridge();

  /** The zero of the engine's clock, in milliseconds since 1970. */
  long startedAtMs();

  /** Containers that a plan of the policy placed. */
  long allocatedByPolicy();

  /** Containers that the fallback placed. */
  long allocatedByFallback();

  /** Refused decisions by reason code. */
  Map<String, Long> refusals();

  /** Live nodes. */
  int nodes();

  /** What they hold together. */
  Map<String, Long> capacity();

  /** The smallest container. */
  Map<String, Long> smallest();

  /** What queues hold now, by path. */
  Map<String, QueueStatus> queues();

  /** Asks that are not served, at most {@code limit} of each leaf queue listed. */
  WaitingStatus waiting(int limit);

  /** Room that is reserved on nodes, by ask. */
  List<ReservationStatus> reservations();

  /** What shows, where HTTP does not prove who calls, that a caller may read the state folder. */
  ApplyToken token();

  /** The configurations applied last that are still kept, newest first; the first one governs. */
  List<AppliedConfig> history();

  /**
   * Puts a new policy in; returns when it governs, or when it is certain that the old one stays.
   *
   * @param user who asks for it, for the history; null where that is not known
   */
  ConfigSwapResult apply(String yaml, String name, String user);

  /** What {@link #apply} would come to; changes nothing. It waits as long. */
  ConfigSwapResult dryRun(String yaml, String name);
}
