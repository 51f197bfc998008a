package org.loomcard.yarn.status;

import java.util.List;
import java.util.Map;
import org.loomcard.yarn.bridge.BridgeStatus;
import org.loomcard.yarn.bridge.ConfigSwapResult;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.ApplyToken;

/**
 * What the scheduler shows about itself, and the one thing that can be requested of it over the
 * web. Any number of web threads may call it at a time. Every method answers at once, except {@link
 * #apply} and {@link #dryRun}. Resources are amounts by name ({@code memory_mb}, {@code vcores},
 * ...).
 */
public interface StatusSource {

  /**
   * The bridge to the policy process, with the policy configuration in force and what policies
   * report; null while the ResourceManager starts.
   */
  BridgeStatus bridge();

  /** The zero of the engine's clock, in milliseconds since 1970. */
  long startedAtMs();

  /** What Loomcard offers elsewhere and this Hadoop has no place for, in words. */
  List<String> lacking();

  /** Containers that a plan of the policy placed. */
  long allocatedByPolicy();

  /** Containers that the fallback placed. */
  long allocatedByFallback();

  /** Refused decisions by reason code. */
  Map<String, Long> refusals();

  /** Live nodes. */
  int nodes();

  /** The capacity of all live nodes together. */
  Map<String, Long> capacity();

  /** The smallest container. */
  Map<String, Long> smallest();

  /** The largest container. */
  Map<String, Long> largest();

  /** The label of each live node, "" for none, by the node's id. */
  Map<String, String> nodeLabels();

  /** The capacity of the live nodes of each label; of those without one by "". */
  Map<String, Map<String, Long>> partitions();

  /** What queues use now, by path. */
  Map<String, QueueStatus> queues();

  /** The users with applications in each leaf queue, by its path. */
  Map<String, List<UserStatus>> users();

  /** Asks that are not served, at most {@code limit} of each leaf queue listed. */
  WaitingStatus waiting(int limit);

  /** Reservations on nodes, by ask. */
  List<ReservationStatus> reservations();

  /**
   * The token by which a caller shows that it may read the state folder, when HTTP does not prove
   * who calls.
   */
  ApplyToken token();

  /** The applied configurations that are still kept, newest first; the first one is in force. */
  List<AppliedConfig> history();

  /**
   * Applies a new policy; returns when it is in force, or when it is certain that the old one
   * stays.
   *
   * @param user who requests it, for the history; null when that is not known
   */
  ConfigSwapResult apply(String yaml, String name, String user);

  /** Returns the result that {@link #apply} would have; changes nothing. It waits as long. */
  ConfigSwapResult dryRun(String yaml, String name);

  /**
   * Explains why an application or a queue waits. It may take some seconds.
   *
   * @param kind {@code application} or {@code queue}; {@code asks} for the reasons of either's asks
   *     one by one
   * @param name its id or path
   * @return null if there is no such application or queue
   */
  ExplanationStatus explain(String kind, String name);
}
