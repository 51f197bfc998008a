package org.loomcard.yarn;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.hadoop.HadoopCompat;
import org.loomcard.yarn.policyconfig.BridgeConfig;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one attempt from asking under so many keys (priority, allocation request id), or for so
 * many hosts and racks, that every round of the whole cluster becomes slow: each grant of an ask
 * has all of its rows written for the policy again.
 */
public final class AskLimits {
  private static final Logger LOG = LoggerFactory.getLogger(AskLimits.class);

  private AskLimits() {
  }

  /**
   * Refuses the heartbeat whose asks would bring the attempt above a limit: the AM gets an
   * exception, and the application's diagnostics say so. Called before anything of the heartbeat is
   * applied. The ask for the AM's own container is not limited: no one would be notified of its
   * refusal, and the attempt would wait for ever.
   */
  public static void check(LoomcardAttempt attempt, List<ResourceRequest> asks,
      BridgeConfig limits) {
    if (asks.isEmpty() || attempt.isWaitingForAMContainer()) {
      return;
    }
    checkKeys(attempt, asks, limits.maxAskKeys);
    checkRows(attempt, asks, limits);
  }

  private static void checkKeys(LoomcardAttempt attempt, List<ResourceRequest> asks, int most) {
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
          + "priority and allocation request id", most + " outstanding ("
          + BridgeConfig.MAX_ASK_KEYS + ")",
          "Ask for several containers under one pair, or wait for some to be granted.");
    }
  }

  /** Rows without one for {@code *} count too: they are kept, and such a one may follow. */
  private static void checkRows(LoomcardAttempt attempt, List<ResourceRequest> asks,
      BridgeConfig limits) {
    Map<SchedulerRequestKey, List<ResourceRequest>> asked = new HashMap<>();
    for (ResourceRequest ask : asks) {
      asked.computeIfAbsent(SchedulerRequestKey.create(ask), key -> new ArrayList<>()).add(ask);
    }
    long enough = limits.maxAskRows - asks.size();
    long all = attempt.askRows().atMost(enough);
    if (all > enough) {
      attempt.askRows().dropServed();
      all = attempt.askRows().atMost(enough);
    }
    boolean allFit = all + asks.size() <= limits.maxAskRows;
    long more = 0;
    for (Map.Entry<SchedulerRequestKey, List<ResourceRequest>> key : asked.entrySet()) {
      Map<String, ResourceRequest> rows = HadoopCompat.rows(attempt, key.getKey());
      int before = rows.size();
      if (allFit && before + key.getValue().size() <= limits.maxKeyRows) {
        continue;
      }
      int after = named(rows, key.getValue()).size();
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
  }

  /** The places that an ask names once these rows of it are applied. */
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

  private static void refuseRows(LoomcardAttempt attempt, long wanted, String where, String most) {
    refuse(attempt, "names " + wanted + " hosts and racks (* counts as one) " + where, most,
        "Name fewer, or first take back those that are no longer wanted: ask for 0 containers"
        + " there.");
  }

  private static void refuse(LoomcardAttempt attempt, String what, String most, String remedy) {
    String message = "Application " + attempt.getApplicationId() + " " + what
        + "; one attempt may have " + most + ". Nothing of this request was taken. " + remedy;
    LOG.warn("{}", message);
    RMAppAttempt known = attempt.appAttempt();
    if (known != null) {
      known.updateAMLaunchDiagnostics(message);
    }
    throw HadoopCompat.refusedAsks(message);
  }
}
