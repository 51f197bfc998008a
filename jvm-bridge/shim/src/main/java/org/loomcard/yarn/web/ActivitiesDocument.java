package org.loomcard.yarn.web;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import org.apache.http.NameValuePair;
import org.loomcard.yarn.status.ExplanationStatus;
import org.loomcard.yarn.status.StatusSource;

/**
 * Why asks wait, in the shape of CapacityScheduler's activities. CapacityScheduler records the next
 * time that it looks at a node; here it is what the policy's state says when the call comes, of
 * each ask that waits. So nothing needs to be turned on before, and one answer has all.
 */
final class ActivitiesDocument {
  private static final String REJECTED = "REJECTED";
  private static final String SKIPPED = "SKIPPED";
  private static final String RESERVED = "RESERVED";
  private static final String RESERVATION = "RESERVATION";
  private static final List<String> GROUPS = Collections.singletonList("DIAGNOSTIC");
  private static final List<String> ACTIONS = Arrays.asList("REFRESH", "GET");
  private static final String NO_NEED = " does not need more resource";

  private final StatusSource source;
  private final List<NameValuePair> query;
  private final boolean grouped;
  private final Map<String, List<String>> children = new HashMap<>();
  private final long now = System.currentTimeMillis();

  private ActivitiesDocument(StatusSource source, List<NameValuePair> query) {
    this.source = source;
    this.query = query;
    grouped = !values("groupBy").isEmpty();
  }

  /** Returns the document of all queues; the query may name a node, whose partition counts then. */
  static JsonObject ofCluster(StatusSource source, List<NameValuePair> query) {
    return CapacityDocument.wrapped("activities", new ActivitiesDocument(source, query).cluster());
  }

  /** Returns the document of one application. */
  static JsonObject ofApplication(StatusSource source, String id, List<NameValuePair> query) {
    return CapacityDocument.wrapped("appActivities",
        new ActivitiesDocument(source, query).application(id));
  }

  private JsonObject cluster() {
    JsonObject document = new JsonObject();
    String asked = WebFilter.first(query, "nodeId", null);
    Map<String, String> labels = source.nodeLabels();
    String node = asked == null ? null : node(asked, labels.keySet());
    String wrong = wrong("groupBy", GROUPS, "groupBy types");
    if (wrong == null && labels.isEmpty()) {
      wrong = "No node manager running in the cluster";
    } else if (wrong == null && asked != null && node == null) {
      wrong = "Cannot find node manager with given node id";
    }
    if (asked != null) {
      document.addProperty("nodeId", node == null ? asked : node);
    }
    if (wrong != null) {
      document.addProperty("diagnostic", wrong);
      return document;
    }
    addTime(document);
    for (String path : source.queues().keySet()) {
      children.computeIfAbsent(path.substring(0, Math.max(0, path.lastIndexOf('.'))),
          parent -> new ArrayList<>()).add(path);
    }
    JsonObject found = found(source.explain("asks", "root"));
    Collection<String> partitions = node == null ? new TreeSet<>(labels.values())
        : Collections.singleton(labels.get(node));
    JsonArray allocations = new JsonArray();
    for (String partition : partitions) {
      JsonObject allocation = new JsonObject();
      allocation.addProperty("partition", partition);
      allocation.addProperty("finalAllocationState", SKIPPED);
      JsonObject root = found == null ? activity("root", SKIPPED, silence())
          : queue("root", asks(found, "label", partition));
      if (found != null && found.get("further_asks").getAsLong() > 0) {
        root.addProperty("diagnostic",
            found.get("further_asks").getAsString() + " further asks are not listed");
      }
      allocation.add("root", root);
      allocations.add(allocation);
    }
    document.add("allocations", allocations);
    return document;
  }

  /** Returns the id of the node with that host, or host and port; null if there is none. */
  private static String node(String asked, Collection<String> ids) {
    for (String id : ids) {
      if (id.equals(asked) || id.substring(0, id.lastIndexOf(':')).equals(asked)) {
        return id;
      }
    }
    return null;
  }

  private JsonObject queue(String path, List<JsonObject> asks) {
    if (asks.isEmpty()) {
      return activity(path, SKIPPED, "Queue" + NO_NEED);
    }
    JsonObject shown = activity(path, SKIPPED, null);
    for (JsonObject ask : asks) {
      for (JsonElement each : ask.getAsJsonArray("binding")) {
        JsonObject bound = each.getAsJsonObject();
        if (text(bound, "code").equals("QUEUE_MAX") && text(bound, "where").equals(path)) {
          shown.addProperty("allocationState", REJECTED);
          shown.addProperty("diagnostic", text(bound, "text"));
        }
      }
    }
    JsonArray shownBelow = new JsonArray();
    List<String> below = children.getOrDefault(path, Collections.emptyList());
    for (String child : below) {
      List<JsonObject> its = new ArrayList<>();
      for (JsonObject ask : asks) {
        if ((text(ask, "queue") + ".").startsWith(child + ".")) {
          its.add(ask);
        }
      }
      shownBelow.add(queue(child, its));
    }
    if (below.isEmpty()) {
      addApplications(shownBelow, asks);
    }
    shown.add("children", shownBelow);
    return shown;
  }

  private void addApplications(JsonArray shown, List<JsonObject> asks) {
    JsonObject application = null;
    for (JsonObject ask : asks) {
      if (application == null || !text(application, "name").equals(text(ask, "application"))) {
        application = activity(text(ask, "application"), state(ask), null);
        application.add("appPriority", ask.get("app_priority"));
        application.add("children", new JsonArray());
        shown.add(application);
      }
      JsonObject request = activity("request_" + text(ask, "priority") + "_"
          + text(ask, "allocation_request_id"), null, null);
      fill(request, ask);
      application.getAsJsonArray("children").add(request);
    }
  }

  private JsonObject application(String id) {
    JsonObject document = new JsonObject();
    document.addProperty("applicationId", id);
    String wrong = wrong("groupBy", GROUPS, "groupBy types");
    if (wrong == null) {
      wrong = wrong("actions", ACTIONS, "actions");
    }
    if (wrong == null) {
      wrong = wrongLimit();
    }
    List<String> actions = values("actions");
    if (wrong == null && !actions.isEmpty()
        && actions.stream().noneMatch(each -> each.equalsIgnoreCase("GET"))) {
      wrong = "Successfully received action: " + String.join(",", actions);
    }
    ExplanationStatus status = wrong == null ? source.explain("asks", id) : null;
    JsonObject found = status == null ? null : found(status);
    if (wrong == null && status == null) {
      wrong = "Cannot find application with given appId";
    } else if (wrong == null && found == null) {
      String silence = silence();
      wrong = silence != null ? silence : "The scheduler has no such application now; its state is "
          + status.state;
    }
    if (wrong != null) {
      document.addProperty("diagnostic", wrong);
      addTime(document);
      return document;
    }
    JsonObject allocation = new JsonObject();
    addTime(allocation);
    String path = text(found, "queue");
    allocation.addProperty("queueName", path.substring(path.lastIndexOf('.') + 1));
    allocation.add("appPriority", found.get("app_priority"));
    List<JsonObject> asks = wanted(asks(found, null, null));
    allocation.addProperty("allocationState", asks.isEmpty() ? SKIPPED : state(asks.get(0)));
    if (asks.isEmpty()) {
      allocation.addProperty("diagnostic", "Application" + NO_NEED);
    }
    JsonArray requests = new JsonArray();
    for (JsonObject ask : asks) {
      JsonObject request = new JsonObject();
      fill(request, ask);
      requests.add(request);
    }
    allocation.add("children", requests);
    JsonArray allocations = new JsonArray();
    allocations.add(allocation);
    document.add("allocations", allocations);
    return document;
  }

  /** Leaves out the asks that the query does not name. */
  private List<JsonObject> wanted(List<JsonObject> asks) {
    List<String> priorities = values("requestPriorities");
    List<String> ids = values("allocationRequestIds");
    asks.removeIf(ask -> !priorities.isEmpty() && !priorities.contains(text(ask, "priority"))
        || !ids.isEmpty() && !ids.contains(text(ask, "allocation_request_id")));
    return asks;
  }

  /** Adds what is said of an ask: its cause, and of a cause on a node that node. */
  private void fill(JsonObject request, JsonObject ask) {
    request.add("requestPriority", ask.get("priority"));
    request.add("allocationRequestId", ask.get("allocation_request_id"));
    request.addProperty("allocationState", state(ask));
    request.addProperty("diagnostic", text(ask, "code") + ": " + text(ask, "text"));
    JsonArray nodes = new JsonArray();
    for (JsonElement each : ask.getAsJsonArray("binding")) {
      JsonObject bound = each.getAsJsonObject();
      if (!bound.get("node").isJsonNull()) {
        JsonObject node = new JsonObject();
        node.addProperty("allocationState", state(ask));
        node.addProperty("diagnostic", text(bound, "text"));
        if (grouped) {
          node.addProperty("count", 1);
          JsonArray ids = new JsonArray();
          ids.add(bound.get("node"));
          node.add("nodeIds", ids);
        } else {
          node.add("nodeId", bound.get("node"));
        }
        nodes.add(node);
      }
    }
    if (nodes.size() > 0) {
      request.add("children", nodes);
    }
  }

  /** A limit or a lack of room rejects an ask; a rule or the order of the policy skips it. */
  private static String state(JsonObject ask) {
    return text(ask, "code").equals(RESERVATION) ? RESERVED
        : ask.getAsJsonArray("binding").size() > 0 ? REJECTED : SKIPPED;
  }

  private static JsonObject activity(String name, String state, String diagnostic) {
    JsonObject activity = new JsonObject();
    activity.addProperty("name", name);
    activity.addProperty("allocationState", state);
    if (diagnostic != null) {
      activity.addProperty("diagnostic", diagnostic);
    }
    return activity;
  }

  private static List<JsonObject> asks(JsonObject found, String key, String value) {
    List<JsonObject> asks = new ArrayList<>();
    for (JsonElement each : found.getAsJsonArray("asks")) {
      if (key == null || text(each.getAsJsonObject(), key).equals(value)) {
        asks.add(each.getAsJsonObject());
      }
    }
    return asks;
  }

  /** Returns the policy process's document; null if it gave none. */
  private static JsonObject found(ExplanationStatus status) {
    JsonElement said = status == null || status.document == null ? JsonNull.INSTANCE
        : new JsonParser().parse(status.document);
    return said.isJsonObject() ? said.getAsJsonObject() : null;
  }

  /** Why there is no document of the policy process; null: it does not know what was asked for. */
  private String silence() {
    return ExplanationDocument.withoutPolicy(source.bridge());
  }

  private void addTime(JsonObject document) {
    document.addProperty("timestamp", now);
    document.addProperty("dateTime", new Date(now).toString());
  }

  /** Returns what is wrong with a parameter, in YARN's words; null if nothing is. */
  private String wrong(String name, List<String> known, String what) {
    for (String each : values(name)) {
      if (!known.contains(each.toUpperCase(Locale.ROOT))) {
        return "Got invalid " + (name.equals("actions") ? "action" : name) + ": " + each
            + ", valid " + what + ": " + known;
      }
    }
    return null;
  }

  private String wrongLimit() {
    String limit = WebFilter.first(query, "limit", null);
    try {
      return limit == null || Integer.parseInt(limit) > 0 ? null : "limit must be greater than 0!";
    } catch (NumberFormatException e) {
      return "limit must be integer!";
    }
  }

  /** The values of a parameter, which may be repeated or separated by commas. */
  private List<String> values(String name) {
    List<String> values = new ArrayList<>();
    for (NameValuePair each : query) {
      if (each.getName().equals(name) && each.getValue() != null && !each.getValue().isEmpty()) {
        values.addAll(Arrays.asList(each.getValue().split(",")));
      }
    }
    return values;
  }

  private static String text(JsonObject object, String key) {
    return object.get(key).getAsString();
  }
}
