package org.loomcard.yarn;

import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.hadoop.YarnRecords;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.state.AskRows;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limits how many different things one attempt, and all attempts of one user, may ask for: keys
 * (priority, allocation request id), sizes of containers, hosts and racks, names on blacklists. Too
 * many would slow every round of the whole cluster, or fill the ResourceManager's memory.
 */
final class AskLimits {
  private static final Logger LOG = LoggerFactory.getLogger(AskLimits.class);
  private static final String WAIT = "or wait for some to be allocated.";
  private final BridgeConfig limits;

  AskLimits(BridgeConfig limits) {
    this.limits = limits;
  }

  /**
   * Refuses a heartbeat that would bring the attempt or its user above a limit. The AM gets an
   * exception, and the application's diagnostics say so. Call it without a lock, before anything of
   * the heartbeat is applied. The ask for the AM's own container is not refused: that would be
   * reported to no AM, and the attempt would wait for ever ({@link #ofMaster}).
   */
  void check(LoomcardAttempt attempt, List<ResourceRequest> asks, List<String> blacklistAdditions,
      List<String> blacklistRemovals) {
    if (attempt.isWaitingForAMContainer()) {
      return;
    }
    if (blacklistAdditions != null && !blacklistAdditions.isEmpty()) {
      checkBlacklist(attempt, blacklistAdditions, blacklistRemovals);
    }
    if (!asks.isEmpty()) {
      checkKeys(attempt, asks);
      checkRows(attempt, asks);
      checkSizes(attempt, asks);
    }
  }

  /**
   * Returns the rows of an ask for the AM's own container: all, or if these are more than one ask
   * may have, {@code *} and the first of the others. The user who submits the application names
   * them.
   */
  List<ResourceRequest> ofMaster(LoomcardAttempt attempt, List<ResourceRequest> asks) {
    long all = AskRows.weightOf(asks);
    if (all <= limits.maxKeyRows) {
      return asks;
    }
    List<ResourceRequest> kept = new ArrayList<>();
    long weight = AskRows.weight(ResourceRequest.ANY);
    for (ResourceRequest ask : asks) {
      boolean any = ask.getResourceName().equals(ResourceRequest.ANY);
      weight += any ? 0 : AskRows.weight(ask.getResourceName());
      if (any || weight <= limits.maxKeyRows) {
        kept.add(ask);
      }
    }
    LOG.warn("Application {} names {} hosts and racks for its AM; the first {} count ({})",
        attempt.getApplicationId(), all, kept.size(), BridgeConfig.MAX_KEY_ROWS);
    return kept;
  }

  private void checkKeys(LoomcardAttempt attempt, List<ResourceRequest> asks) {
    int most = limits.maxAskKeys;
    Set<SchedulerRequestKey> keys = new HashSet<>(attempt.getSchedulerKeys());
    keys.removeIf(key -> key.getContainerToUpdate() != null);
    int before = keys.size();
    if (before + asks.size() <= most) {
      return;
    }
    for (ResourceRequest ask : asks) {
      if (ask.getResourceName().equals(ResourceRequest.ANY)) {
        SchedulerRequestKey key = SchedulerRequestKey.create(ask);
        if (ask.getNumContainers() > 0) {
          keys.add(key);
        } else {
          keys.remove(key);
        }
      }
    }
    if (keys.size() > Math.max(most, before)) {
      refuse(attempt, "asks for containers under " + keys.size() + " different pairs of "
          + "priority and allocation request id; one attempt may have " + most + " outstanding ("
          + BridgeConfig.MAX_ASK_KEYS + ")", "Ask for several containers under one pair, " + WAIT);
    }
  }

  /**
   * Refuses too many rows. Rows of an ask without one for {@code *} count too: YARN keeps them, and
   * that row may follow.
   */
  private void checkRows(LoomcardAttempt attempt, List<ResourceRequest> asks) {
    Map<SchedulerRequestKey, List<ResourceRequest>> asked = new HashMap<>();
    for (ResourceRequest ask : asks) {
      asked.computeIfAbsent(SchedulerRequestKey.create(ask), key -> new ArrayList<>()).add(ask);
    }
    long coming = AskRows.weightOf(asks);
    long enough = limits.maxAskRows - coming;
    long all = attempt.askRows().atMost(enough);
    if (all > enough) {
      attempt.askRows().dropServed();
      all = attempt.askRows().atMost(enough);
    }
    boolean userHasRoom = attempt.userAsks().takeRows(coming, limits.maxUserRows);
    boolean allFit = all <= enough && userHasRoom;
    long more = 0;
    for (Map.Entry<SchedulerRequestKey, List<ResourceRequest>> key : asked.entrySet()) {
      Map<String, ResourceRequest> rows = HadoopCalls.rows(attempt, key.getKey());
      long before = AskRows.weightOf(rows.values());
      if (allFit && before + AskRows.weightOf(key.getValue()) <= limits.maxKeyRows) {
        continue;
      }
      long after = AskRows.weight(named(rows, key.getValue()));
      if (after > Math.max(limits.maxKeyRows, before)) {
        refuseRows(attempt, after, "under one pair of priority and allocation request id",
            limits.maxKeyRows + " (" + BridgeConfig.MAX_KEY_ROWS + ")");
      }
      more += after - before;
    }
    if (more > 0 && all + more > limits.maxAskRows) {
      refuseRows(attempt, all + more, "in all its asks together",
          limits.maxAskRows + " (" + BridgeConfig.MAX_ASK_ROWS + ")");
    }
    if (more < 0 && !userHasRoom) {
      attempt.userAsks().giveRows(-more);
    }
    if (more > 0 && !userHasRoom && !attempt.userAsks().takeRows(more, limits.maxUserRows)) {
      refuseUser(attempt, "names in asks for containers", limits.maxUserRows + " hosts and racks ("
          + BridgeConfig.MAX_USER_ROWS + ")", "Name fewer, " + WAIT);
    }
  }

  /** Returns the places that an ask names once these rows of it are applied. */
  private static Set<String> named(Map<String, ResourceRequest> rows, List<ResourceRequest> asks) {
    Set<String> names = new HashSet<>(rows.keySet());
    for (ResourceRequest ask : asks) {
      if (ask.getNumContainers() > 0) {
        names.add(ask.getResourceName());
      } else {
        names.remove(ask.getResourceName());
      }
    }
    return names;
  }

  private void checkSizes(LoomcardAttempt attempt, List<ResourceRequest> asks) {
    Set<LongBuffer> sizes = new HashSet<>();
    for (ResourceRequest ask : asks) {
      if (ask.getNumContainers() > 0 && ask.getResourceName().equals(ResourceRequest.ANY)) {
        sizes.add(LongBuffer.wrap(Amounts.of(ask.getCapability())));
      }
    }
    if (!attempt.askRows().takeSizes(sizes, limits.maxAskSizes)) {
      refuse(attempt, "asks for containers of too many different sizes; one attempt may ask for "
          + limits.maxAskSizes + " (" + BridgeConfig.MAX_ASK_SIZES + ")",
          "Ask for fewer sizes, " + WAIT);
    }
    if (!attempt.userAsks().takeSizes(sizes, limits.maxUserSizes)) {
      refuseUser(attempt, "asks for", limits.maxUserSizes + " different sizes of containers ("
          + BridgeConfig.MAX_USER_SIZES + ")", "Ask for fewer sizes, " + WAIT);
    }
  }

  private void checkBlacklist(LoomcardAttempt attempt, List<String> additions,
      List<String> removals) {
    Set<String> names = new HashSet<>(attempt.getBlacklistedNodes());
    long before = AskRows.weight(names);
    names.addAll(additions);
    if (removals != null) {
      names.removeAll(new HashSet<>(removals));
    }
    long after = AskRows.weight(names);
    if (after <= before) {
      return;
    }
    String remedy = "Take names off the list.";
    if (after > limits.maxBlacklist) {
      refuse(attempt, "puts " + after + " hosts and racks on its blacklist; one attempt may have "
          + limits.maxBlacklist + " (" + BridgeConfig.MAX_BLACKLIST + ")", remedy);
    }
    if (attempt.userAsks().blacklisted() + after - before > limits.maxUserBlacklist) {
      refuseUser(attempt, "names on blacklists", limits.maxUserBlacklist + " hosts and racks ("
          + BridgeConfig.MAX_USER_BLACKLIST + ")", remedy);
    }
  }

  private static void refuseRows(LoomcardAttempt attempt, long wanted, String where, String most) {
    refuse(attempt, "names " + wanted + " hosts and racks (* counts as one, and a long name as one "
        + "for each 64 characters) " + where + "; one attempt may have " + most,
        "Name fewer, or first take back those that are no longer wanted: ask for 0 containers"
        + " there.");
  }

  private static void refuseUser(LoomcardAttempt attempt, String what, String most, String remedy) {
    refuse(attempt, what + ", with all other applications of user " + attempt.getUser()
        + ", too much; one user may have " + most, remedy);
  }

  private static void refuse(LoomcardAttempt attempt, String what, String remedy) {
    String message = "Application " + attempt.getApplicationId() + " " + what
        + ". Nothing of this request was taken. " + remedy;
    LOG.warn("{}", message);
    RMAppAttempt known = attempt.appAttempt();
    if (known != null) {
      YarnRecords.diagnose(known, message);
    }
    throw HadoopCalls.refusedAsks(message);
  }
}
