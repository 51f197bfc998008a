package org.loomcard.yarn.web;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.loomcard.yarn.bridge.BridgeStatus;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.rounds.PolicyFault;
import org.loomcard.yarn.rounds.QueueStall;
import org.loomcard.yarn.status.QueueStatus;
import org.loomcard.yarn.status.ReservationStatus;
import org.loomcard.yarn.status.StatusSource;
import org.loomcard.yarn.status.WaitingApplication;
import org.loomcard.yarn.status.WaitingStatus;

/**
 * The one document about the scheduler; docs/operate/rest.md describes it. The page draws it.
 */
final class SchedulerDocument {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final double MICROS_PER_MS = 1000;
  /** How many asks of a leaf queue are listed by default, and at most. */
  static final int USUAL_LIMIT = 100;
  static final int HIGHEST_LIMIT = 10_000;
  /** A longer text of a policy is left out: a browser could not show such a page. */
  private static final int LONGEST_REPORT = 256 * 1024;
  private static final int LONGEST_FAILURE = 16 * 1024;
  /** What a queue of the document copies unchanged from the compiled policy configuration. */
  private static final String[] QUEUE_KEYS = {"leaf", "policy", "policy_named", "walked",
      "options", "weight", "user_limit_ppm", "am_share_ppm", "submit", "administer"};

  /** Limits that a queue of the compiled policy configuration has only if they are stated. */
  private static final String[] LIMIT_KEYS = {"reservation_share_ppm", "reservation_nodes",
      "maximum_applications", "maximum_applications_per_user", "maximum_allocation",
      "maximum_lifetime_s", "default_lifetime_s", "labels", "default_label",
      "label_guaranteed_ppm"};

  /** Fields by their names of the earlier version; the next version removes those names. */
  private static final Map<String, String> FORMER = former();

  private SchedulerDocument() {
  }

  /**
   * Returns the tree from {@code type} down.
   *
   * @param limit how many asks are listed of each leaf queue
   */
  static ObjectNode of(StatusSource source, int limit) {
    BridgeStatus status = source.bridge();
    JsonNode policyConfig = parse(status.applied.policyConfig.json);
    ObjectNode document = JSON.createObjectNode();
    document.put("type", "loomcard");
    document.put("schedulerName", "LoomcardScheduler");
    document.set("config", policyConfig(status.applied, policyConfig));
    document.set("bridge", bridge(status, source.startedAtMs()));
    document.set("allocations", JSON.createObjectNode()
        .put("policy", source.allocatedByPolicy())
        .put("fallback", source.allocatedByFallback()));
    document.set("refusals", amounts(source.refusals()));
    ObjectNode cluster = JSON.createObjectNode().put("nodes", source.nodes());
    cluster.set("capacity", amounts(source.capacity()));
    cluster.set("minimum_allocation", amounts(source.smallest()));
    document.set("cluster", cluster);
    document.set("queues", queues(source.queues(), status.reports, policyConfig.path("queues")));
    document.set("reservations", reservations(source));
    WaitingStatus waiting = source.waiting(limit);
    document.set("waiting_total", JSON.createObjectNode()
        .put("applications", waiting.applications)
        .put("asks", waiting.asks)
        .put("containers", waiting.containers)
        .put("limit", limit));
    document.set("waiting", listed(waiting));
    FORMER.forEach((former, name) -> document.set(former, document.get(name)));
    return document;
  }

  private static Map<String, String> former() {
    Map<String, String> names = new LinkedHashMap<>();
    names.put("setup", "config");
    names.put("grants", "allocations");
    names.put("holds", "reservations");
    return names;
  }

  /** Returns the tree in the envelope that every scheduler of YARN uses. */
  static ObjectNode enveloped(StatusSource source, int limit) {
    ObjectNode scheduler = JSON.createObjectNode();
    scheduler.set("schedulerInfo", of(source, limit));
    ObjectNode envelope = JSON.createObjectNode();
    envelope.set("scheduler", scheduler);
    return envelope;
  }

  /** Returns the policy in force: version, hash, source and its YAML. */
  static ObjectNode policy(StatusSource source) {
    AppliedConfig applied = source.bridge().applied;
    ObjectNode document = applied(applied).put("yaml", applied.yaml);
    document.putArray("features").add("dry_run"); // an older one would apply what is to be tried
    return document;
  }

  /** Returns version, hash and source of a policy configuration. */
  static ObjectNode applied(AppliedConfig applied) {
    return JSON.createObjectNode()
        .put("version", applied.version)
        .put("hash", applied.policyConfig.hash)
        .put("source", applied.policyConfig.source);
  }

  private static ObjectNode policyConfig(AppliedConfig applied, JsonNode policyConfig) {
    ObjectNode document = JSON.createObjectNode();
    document.set("policy", value(fileQueue(policyConfig.path("queues")), "policy"));
    document.setAll(applied(applied));
    document.set("schema", value(policyConfig, "schema"));
    document.set("needs", value(policyConfig, "needs"));
    return document;
  }

  /**
   * Returns the queue that the file's own policy governs: root, or root.default if it has no
   * queues.
   */
  private static JsonNode fileQueue(JsonNode queues) {
    for (JsonNode queue : queues) {
      if (queue.path("policy_named").asBoolean()) {
        return queue;
      }
    }
    return queues.path(0);
  }

  private static ObjectNode bridge(BridgeStatus status, long startedAtMs) {
    ObjectNode document = JSON.createObjectNode()
        .put("state", status.state.name().toLowerCase(Locale.ROOT))
        .put("since_ms", startedAtMs + status.sinceMs)
        .put("process", status.process)
        .put("last_failure", status.lastFailure.isEmpty() ? null : failure(status.lastFailure))
        .put("recovered_ms", status.recoveredMs == BridgeStatus.NOT_RECOVERED ? null
            : (Long) (startedAtMs + status.recoveredMs))
        .put("failures", status.counters.failures())
        .put("restarts", status.counters.restarts())
        .put("rounds", status.counters.rounds())
        .put("last_round_ms", status.counters.lastRoundMicros() / MICROS_PER_MS);
    ArrayNode faults = document.put("overdue", status.counters.overdue()).putArray("faults");
    for (PolicyFault fault : status.faults) {
      faults.addObject().put("queue", fault.queue).put("at_ms", startedAtMs + fault.atMs)
          .put("message", fault.message).put("traceback", fault.traceback);
    }
    ArrayNode stalls = document.put("stalls", status.counters.stalls()).putArray("stalled");
    for (QueueStall stall : status.stalls) {
      stalls.addObject().put("queue", stall.queue).put("at_ms", startedAtMs + stall.atMs)
          .put("until_ms", startedAtMs + stall.untilMs).put("times", stall.times)
          .put("message", stall.message);
    }
    document.set("journal", report(status.reports.get("journal")));
    return document;
  }

  private static ArrayNode queues(Map<String, QueueStatus> usages, Map<String, String> reports,
      JsonNode specs) {
    ArrayNode documents = JSON.createArrayNode();
    for (JsonNode spec : specs) {
      String path = spec.path("path").asText();
      ObjectNode document = documents.addObject().put("path", path);
      JsonNode parent = spec.path("parent");
      document.set("parent", parent.isInt() ? specs.path(parent.asInt()).get("path") : null);
      for (String key : QUEUE_KEYS) {
        document.set(key, value(spec, key));
      }
      ObjectNode limits = document.putObject("limits");
      for (String key : LIMIT_KEYS) {
        if (spec.has(key)) {
          limits.set(key, spec.get(key));
        }
      }
      QueueStatus usage = usages.get(path);
      if (usage != null) {
        fillUsage(document, usage);
      }
      document.set("report", report(reports.get(path)));
      document.set("report_from_above", report(reports.get(path + " from above")));
    }
    return documents;
  }

  private static String failure(String text) {
    return text.length() <= LONGEST_FAILURE ? text
        : text.substring(0, LONGEST_FAILURE) + "... (" + text.length() + " characters)";
  }

  private static JsonNode report(String text) {
    if (text != null && text.length() > LONGEST_REPORT) {
      return JSON.createObjectNode().put("left out", "a report of " + text.length()
          + " characters; at most " + LONGEST_REPORT + " are shown");
    }
    return text == null ? null : parse(text);
  }

  private static void fillUsage(ObjectNode document, QueueStatus usage) {
    document.set("guaranteed", amounts(usage.guaranteed));
    document.set("maximum", amounts(usage.maximum));
    document.set("used", amounts(usage.used));
    document.set("pending", amounts(usage.pending));
    document.put("applications", usage.applications).put("containers", usage.containers);
    document.put("state", usage.state.name);
    document.set("entitlement", amounts(usage.state.entitlement));
    document.set("used_by_ams", amounts(usage.state.usedByAms));
    ObjectNode users = document.putObject("applications_by_user");
    usage.state.applicationsByUser.forEach(users::put);
    ObjectNode labels = document.putObject("by_label");
    usage.state.labels.forEach((name, label) -> {
      ObjectNode shown = labels.putObject(name);
      shown.set("guaranteed", amounts(label.guaranteed));
      shown.set("used", amounts(label.used));
      shown.set("lent", amounts(label.lent));
      shown.set("maximum", amounts(label.maximum));
    });
  }

  private static ArrayNode reservations(StatusSource source) {
    ArrayNode documents = JSON.createArrayNode();
    for (ReservationStatus reservation : source.reservations()) {
      documents.addObject()
          .put("application", reservation.application)
          .put("queue", reservation.queue)
          .put("node", reservation.node)
          .put("priority", reservation.priority)
          .put("allocation_request_id", reservation.allocationRequestId)
          .put("since_ms", reservation.sinceMs)
          .set("resource", amounts(reservation.resource));
    }
    return documents;
  }

  private static ArrayNode listed(WaitingStatus waiting) {
    ArrayNode documents = JSON.createArrayNode();
    for (WaitingApplication application : waiting.listed) {
      ArrayNode asks = documents.addObject()
          .put("application", application.id)
          .put("name", application.name)
          .put("user", application.user)
          .put("queue", application.queue)
          .putArray("asks");
      for (WaitingApplication.WaitingAsk ask : application.asks) {
        ObjectNode document = asks.addObject()
            .put("priority", ask.priority)
            .put("allocation_request_id", ask.allocationRequestId)
            .put("count", ask.count);
        document.set("resource", amounts(ask.resource));
        document.put("reason", ask.reason).put("until_ms", ask.untilMs);
      }
    }
    return documents;
  }

  private static ObjectNode amounts(Map<String, Long> amounts) {
    if (amounts == null) {
      return null;
    }
    ObjectNode document = JSON.createObjectNode();
    for (Map.Entry<String, Long> amount : amounts.entrySet()) {
      document.put(amount.getKey(), amount.getValue());
    }
    return document;
  }

  private static JsonNode value(JsonNode parent, String key) {
    return parent.has(key) ? parent.get(key) : NullNode.getInstance();
  }

  /**
   * Reads a text as JSON. If it is invalid it is shown as text: a policy's report must not make
   * the call fail.
   */
  private static JsonNode parse(String text) {
    if (text == null) {
      return JSON.createObjectNode();
    }
    try {
      return JSON.readTree(text);
    } catch (JsonProcessingException e) {
      return JSON.getNodeFactory().textNode(text);
    }
  }
}
