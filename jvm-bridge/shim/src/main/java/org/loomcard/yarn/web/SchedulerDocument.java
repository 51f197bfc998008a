package org.loomcard.yarn.web;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.util.VersionInfo;
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
  private static final double MICROS_PER_MS = 1000;
  /** How many asks of a leaf queue are listed by default, and at most. */
  static final int USUAL_LIMIT = 100;
  static final int HIGHEST_LIMIT = 10_000;
  /** A longer text of a policy is left out: a browser could not show such a page. */
  private static final int LONGEST_REPORT = 256 * 1024;
  private static final int LONGEST_FAILURE = 16 * 1024;
  /** What a queue of the document copies unchanged from the compiled policy configuration. */
  private static final List<String> QUEUE_KEYS = Arrays.asList("leaf", "policy", "policy_named",
      "walked", "options", "weight", "user_limit_ppm", "am_share_ppm", "submit", "administer");

  /** What a queue's {@code limits} leave out: what the document has in another form. */
  private static final List<String> OTHER_KEYS = Arrays.asList("path", "parent", "guaranteed",
      "maximum", "state", "label_maximum_ppm");

  private SchedulerDocument() {
  }

  /**
   * Returns our own document.
   *
   * @param limit how many asks are listed of each leaf queue
   */
  private static JsonObject of(StatusSource source, int limit) {
    BridgeStatus status = source.bridge();
    JsonObject policyConfig = parse(status.applied.policyConfig.json).getAsJsonObject();
    JsonArray specs = policyConfig.getAsJsonArray("queues");
    JsonObject document = new JsonObject();
    document.addProperty("type", "loomcard");
    document.addProperty("schedulerName", "LoomcardScheduler");
    document.add("config", policyConfig(status.applied, policyConfig));
    document.add("bridge", bridge(status, source.startedAtMs()));
    JsonObject allocations = new JsonObject();
    allocations.addProperty("policy", source.allocatedByPolicy());
    allocations.addProperty("fallback", source.allocatedByFallback());
    document.add("allocations", allocations);
    document.add("refusals", amounts(source.refusals()));
    JsonObject cluster = new JsonObject();
    cluster.addProperty("nodes", source.nodes());
    cluster.add("capacity", amounts(source.capacity()));
    cluster.add("minimum_allocation", amounts(source.smallest()));
    document.add("cluster", cluster);
    document.add("hadoop", hadoop(source));
    document.add("queues", queues(source.queues(), status.reports(), specs));
    document.add("reservations", reservations(source));
    WaitingStatus waiting = source.waiting(limit);
    JsonObject total = new JsonObject();
    total.addProperty("applications", waiting.applications);
    total.addProperty("asks", waiting.asks);
    total.addProperty("containers", waiting.containers);
    total.addProperty("limit", limit);
    document.add("waiting_total", total);
    document.add("waiting", listed(waiting));
    return document;
  }

  private static JsonObject hadoop(StatusSource source) {
    JsonObject document = new JsonObject();
    document.addProperty("version", VersionInfo.getVersion());
    JsonArray lacking = new JsonArray();
    source.lacking().forEach(what -> lacking.add(new JsonPrimitive(what)));
    document.add("lacking", lacking);
    return document;
  }

  /**
   * Returns the document in the envelope that every scheduler of YARN uses: the queues as
   * CapacityScheduler shows them, and all of ours in {@code loomcard}.
   */
  static JsonObject enveloped(StatusSource source, int limit) {
    JsonObject scheduler = new JsonObject();
    JsonObject info = CapacityDocument.of(source, specs(source));
    info.add("loomcard", of(source, limit));
    scheduler.add("schedulerInfo", info);
    JsonObject envelope = new JsonObject();
    envelope.add("scheduler", scheduler);
    return envelope;
  }

  /** Returns the queues as properties of CapacityScheduler. */
  static JsonObject conf(StatusSource source) {
    return SchedulerConf.of(specs(source));
  }

  private static JsonArray specs(StatusSource source) {
    return parse(source.bridge().applied.policyConfig.json).getAsJsonObject()
        .getAsJsonArray("queues");
  }

  /** Returns the policy in force: version, hash, source and its YAML. */
  static JsonObject policy(StatusSource source) {
    AppliedConfig applied = source.bridge().applied;
    JsonObject document = new JsonObject();
    addApplied(document, applied);
    document.addProperty("yaml", applied.yaml);
    JsonArray features = new JsonArray();
    features.add(new JsonPrimitive("dry_run")); // an older one would apply what is to be tried
    document.add("features", features);
    return document;
  }

  /** Adds version, hash and source of a policy configuration. */
  static void addApplied(JsonObject document, AppliedConfig applied) {
    document.addProperty("version", applied.version);
    document.addProperty("hash", applied.policyConfig.hash);
    document.addProperty("source", applied.policyConfig.source);
  }

  private static JsonObject policyConfig(AppliedConfig applied, JsonObject policyConfig) {
    JsonObject document = new JsonObject();
    document.add("policy", value(fileQueue(policyConfig.getAsJsonArray("queues")), "policy"));
    addApplied(document, applied);
    document.add("schema", value(policyConfig, "schema"));
    document.add("needs", value(policyConfig, "needs"));
    return document;
  }

  /**
   * Returns the queue that the file's own policy governs: root, or root.default if it has no
   * queues.
   */
  private static JsonObject fileQueue(JsonArray queues) {
    for (JsonElement queue : queues) {
      if (queue.getAsJsonObject().get("policy_named").getAsBoolean()) {
        return queue.getAsJsonObject();
      }
    }
    return queues.get(0).getAsJsonObject();
  }

  private static JsonObject bridge(BridgeStatus status, long startedAtMs) {
    JsonObject document = new JsonObject();
    document.addProperty("state", status.state.name().toLowerCase(Locale.ROOT));
    document.addProperty("since_ms", startedAtMs + status.sinceMs);
    document.addProperty("process", status.process);
    document.addProperty("build", status.build.isEmpty() ? null : status.build);
    document.addProperty("last_failure",
        status.lastFailure.isEmpty() ? null : failure(status.lastFailure));
    document.addProperty("recovered_ms", status.recoveredMs == BridgeStatus.NOT_RECOVERED ? null
        : (Long) (startedAtMs + status.recoveredMs));
    document.addProperty("failures", status.counters.failures());
    document.addProperty("restarts", status.counters.restarts());
    document.addProperty("rounds", status.counters.rounds());
    document.addProperty("last_round_ms", status.counters.lastRoundMicros() / MICROS_PER_MS);
    document.addProperty("overdue", status.counters.overdue());
    JsonArray faults = new JsonArray();
    for (PolicyFault fault : status.faults) {
      JsonObject shown = added(faults);
      shown.addProperty("queue", fault.queue);
      shown.addProperty("at_ms", startedAtMs + fault.atMs);
      shown.addProperty("message", fault.message);
      shown.addProperty("traceback", fault.traceback);
    }
    document.add("faults", faults);
    document.addProperty("stalls", status.counters.stalls());
    JsonArray stalled = new JsonArray();
    for (QueueStall stall : status.stalls) {
      JsonObject shown = added(stalled);
      shown.addProperty("queue", stall.queue);
      shown.addProperty("at_ms", startedAtMs + stall.atMs);
      shown.addProperty("until_ms", startedAtMs + stall.untilMs);
      shown.addProperty("times", stall.times);
      shown.addProperty("message", stall.message);
    }
    document.add("stalled", stalled);
    document.add("journal", report(status.reports().get("journal")));
    return document;
  }

  private static JsonArray queues(Map<String, QueueStatus> usages, Map<String, String> reports,
      JsonArray specs) {
    JsonArray documents = new JsonArray();
    for (JsonElement each : specs) {
      JsonObject spec = each.getAsJsonObject();
      String path = spec.get("path").getAsString();
      JsonObject document = added(documents);
      document.addProperty("path", path);
      JsonElement parent = value(spec, "parent");
      document.add("parent", parent.isJsonNull() ? null
          : specs.get(parent.getAsInt()).getAsJsonObject().get("path"));
      for (String key : QUEUE_KEYS) {
        document.add(key, value(spec, key));
      }
      JsonObject limits = new JsonObject();
      for (Map.Entry<String, JsonElement> key : spec.entrySet()) {
        if (!QUEUE_KEYS.contains(key.getKey()) && !OTHER_KEYS.contains(key.getKey())) {
          limits.add(key.getKey(), shown(key.getKey(), key.getValue()));
        }
      }
      document.add("limits", limits);
      QueueStatus usage = usages.get(path);
      if (usage != null) {
        fillUsage(document, usage);
      }
      document.add("report", report(reports.get(path)));
      document.add("report_from_above", report(reports.get(path + " from above")));
    }
    return documents;
  }

  /** Returns a key's value; what may be created is shown without the rows that stand for it. */
  private static JsonElement shown(String key, JsonElement value) {
    if (!key.equals("auto_create")) {
      return value;
    }
    JsonObject shown = new JsonObject();
    for (Map.Entry<String, JsonElement> each : value.getAsJsonObject().entrySet()) {
      if (each.getValue().isJsonPrimitive()) {
        shown.add(each.getKey(), each.getValue());
      }
    }
    return shown;
  }

  private static String failure(String text) {
    return text.length() <= LONGEST_FAILURE ? text
        : text.substring(0, LONGEST_FAILURE) + "... (" + text.length() + " characters)";
  }

  private static JsonElement report(String text) {
    if (text != null && text.length() > LONGEST_REPORT) {
      JsonObject left = new JsonObject();
      left.addProperty("left out", "a report of " + text.length() + " characters; at most "
          + LONGEST_REPORT + " are shown");
      return left;
    }
    return text == null ? null : parse(text);
  }

  private static void fillUsage(JsonObject document, QueueStatus usage) {
    document.add("guaranteed", amounts(usage.guaranteed));
    document.add("maximum", amounts(usage.maximum));
    document.add("used", amounts(usage.used));
    document.add("pending", amounts(usage.pending.amounts));
    document.addProperty("applications", usage.applications);
    document.addProperty("containers", usage.containers);
    document.addProperty("state", usage.state.name);
    document.add("entitlement", amounts(usage.state.entitlement));
    document.add("used_by_ams", amounts(usage.state.usedByAms));
    document.add("applications_by_user", amounts(usage.state.applicationsByUser));
    JsonObject labels = new JsonObject();
    usage.state.labels.forEach((name, label) -> {
      JsonObject shown = new JsonObject();
      shown.add("guaranteed", amounts(label.guaranteed));
      shown.add("used", amounts(label.used));
      shown.add("lent", amounts(label.lent));
      shown.add("maximum", amounts(label.maximum));
      shown.add("pending", amounts(label.pending));
      labels.add(name, shown);
    });
    document.add("by_label", labels);
  }

  private static JsonArray reservations(StatusSource source) {
    JsonArray documents = new JsonArray();
    for (ReservationStatus reservation : source.reservations()) {
      JsonObject document = added(documents);
      document.addProperty("application", reservation.application);
      document.addProperty("queue", reservation.queue);
      document.addProperty("node", reservation.node);
      document.addProperty("priority", reservation.priority);
      document.addProperty("allocation_request_id", reservation.allocationRequestId);
      document.addProperty("since_ms", reservation.sinceMs);
      document.add("resource", amounts(reservation.resource));
    }
    return documents;
  }

  private static JsonArray listed(WaitingStatus waiting) {
    JsonArray documents = new JsonArray();
    for (WaitingApplication application : waiting.listed) {
      JsonObject document = added(documents);
      document.addProperty("application", application.id);
      document.addProperty("name", application.name);
      document.addProperty("user", application.user);
      document.addProperty("queue", application.queue);
      JsonArray asks = new JsonArray();
      for (WaitingApplication.WaitingAsk ask : application.asks) {
        JsonObject shown = added(asks);
        shown.addProperty("priority", ask.priority);
        shown.addProperty("allocation_request_id", ask.allocationRequestId);
        shown.addProperty("count", ask.count);
        shown.add("resource", amounts(ask.resource));
        shown.addProperty("reason", ask.reason);
        shown.addProperty("until_ms", ask.untilMs);
      }
      document.add("asks", asks);
    }
    return documents;
  }

  private static JsonObject added(JsonArray documents) {
    JsonObject document = new JsonObject();
    documents.add(document);
    return document;
  }

  private static JsonObject amounts(Map<String, ? extends Number> amounts) {
    if (amounts == null) {
      return null;
    }
    JsonObject document = new JsonObject();
    amounts.forEach(document::addProperty);
    return document;
  }

  private static JsonElement value(JsonObject parent, String key) {
    return parent.has(key) ? parent.get(key) : JsonNull.INSTANCE;
  }

  /**
   * Reads a text as JSON. If it is invalid it is shown as text: a policy's report must not make the
   * call fail.
   */
  private static JsonElement parse(String text) {
    try {
      return new JsonParser().parse(text);
    } catch (JsonParseException e) {
      return new JsonPrimitive(text);
    }
  }
}
