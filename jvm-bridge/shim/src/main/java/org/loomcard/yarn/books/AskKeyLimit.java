package org.loomcard.yarn.books;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.bridge.BridgeConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one attempt from asking under so many keys (priority, allocation request id) that every
 * round of the whole cluster becomes slow.
 */
public final class AskKeyLimit {
  private static final Logger LOG = LoggerFactory.getLogger(AskKeyLimit.class);

  private AskKeyLimit() {
  }

  /**
   * Refuses the heartbeat whose asks would bring the attempt above the limit: the AM gets an
   * exception, and the application's diagnostics say so. Called before anything of the heartbeat
   * is applied.
   *
   * @param most keys with outstanding containers that an attempt may have
   */
  public static void check(LoomcardAttempt attempt, List<ResourceRequest> asks, int most) {
    if (asks.isEmpty()) {
      return;
    }
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
      refuse(attempt, keys.size(), most);
    }
  }

  private static void refuse(LoomcardAttempt attempt, int wanted, int most) {
    String message = "Application " + attempt.getApplicationId() + " asks for containers under "
        + wanted + " different pairs of priority and allocation request id; one attempt may have "
        + most + " outstanding (" + BridgeConfig.MAX_ASK_KEYS + "). Nothing of this request was "
        + "taken. Ask for several containers under one pair, or wait for some to be granted.";
    LOG.warn("{}", message);
    RMAppAttempt known = attempt.appAttempt();
    if (known != null) {
      known.updateAMLaunchDiagnostics(message);
    }
    throw HadoopLine.refusedAsks(message);
  }
}
