package org.loomcard.yarn.web;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;
import org.loomcard.yarn.status.LabelStatus;
import org.loomcard.yarn.status.QueueStatus;
import org.loomcard.yarn.status.StatusSource;
import org.loomcard.yarn.status.UserStatus;

/**
 * The queues in the shape that CapacityScheduler's document has, for clients that know no other:
 * capacities in percent of the parent and of the cluster, use, users, partitions. Where no queue of
 * a level states a guarantee, the level is in CapacityScheduler's weight mode.
 */
final class CapacityDocument {
  private static final double PERCENT = 100;
  private static final double PPM_PER_PERCENT = 10_000;
  private static final String DEFAULT_PARTITION = "";
  private static final int NOT_SET = -1;

  private final StatusSource source;
  private final QueueSpecs specs;
  private final Map<String, QueueStatus> statuses;
  private final Map<String, List<UserStatus>> users;
  private final Map<String, Map<String, Long>> partitions;
  private final Map<String, Long> largest;
  private final boolean byMemory;

  private CapacityDocument(StatusSource source, QueueSpecs specs) {
    this.source = source;
    this.specs = specs;
    statuses = source.queues();
    users = source.users();
    partitions = source.partitions();
    largest = source.largest();
    JsonElement calculator = specs.option(0, "calculator");
    byMemory = calculator != null && calculator.getAsString().equals("memory");
  }

  /**
   * Returns the document of the root queue.
   *
   * @param specs the queues of the compiled policy configuration
   */
  static JsonObject of(StatusSource source, JsonArray specs) {
    CapacityDocument queues = new CapacityDocument(source, new QueueSpecs(specs));
    JsonObject root = queues.queue(0, new Shares(PERCENT, PERCENT, PERCENT, PERCENT));
    JsonObject document = new JsonObject();
    document.addProperty("type", "capacityScheduler");
    for (Map.Entry<String, JsonElement> each : root.entrySet()) {
      if (!each.getKey().equals("type")) {
        document.add(each.getKey(), each.getValue());
      }
    }
    document.add("health", queues.health());
    document.add("maximumAllocation", resource(queues.largest));
    document.add("minimumAllocation", resource(source.smallest()));
    return document;
  }

  /** A queue's capacity and maximum, in percent of its parent's and of the cluster. */
  private static final class Shares {
    private final double capacity;
    private final double maximum;
    private final double ofCluster;
    private final double maximumOfCluster;

    private Shares(double capacity, double maximum, double ofCluster, double maximumOfCluster) {
      this.capacity = capacity;
      this.maximum = maximum;
      this.ofCluster = ofCluster;
      this.maximumOfCluster = maximumOfCluster;
    }
  }

  private JsonObject queue(int index, Shares shares) {
    JsonObject spec = specs.get(index);
    String path = spec.get("path").getAsString();
    QueueStatus status = statuses.get(path);
    boolean leaf = spec.get("leaf").getAsBoolean();
    JsonObject shown = new JsonObject();
    if (leaf) {
      shown.addProperty("type", "capacitySchedulerLeafQueueInfo");
    }
    shown.addProperty("queuePath", path);
    shown.addProperty("queueName", path.substring(path.lastIndexOf('.') + 1));
    Map<String, Long> used = used(status, DEFAULT_PARTITION);
    double usedOfCluster = part(used, whole(DEFAULT_PARTITION));
    addShares(shown, shares, usedOfCluster);
    boolean weighted = specs.isWeighted(index);
    shown.addProperty("weight", weighted ? spec.get("weight").getAsDouble() : NOT_SET);
    shown.addProperty("normalizedWeight", weighted ? shares.capacity / PERCENT : 0);
    shown.addProperty("isAbsoluteResource", !spec.getAsJsonObject("guaranteed").has("ppm"));
    shown.addProperty("mode", weighted ? "weight"
        : spec.getAsJsonObject("guaranteed").has("ppm") ? "percentage" : "absolute");
    shown.addProperty("queueType", leaf ? "leaf" : "parent");
    shown.addProperty("state", state(status));
    shown.addProperty("maxParallelApps",
        number(spec, "maximum_running_applications", Integer.MAX_VALUE));
    shown.addProperty("numApplications", status == null ? 0 : status.applications);
    shown.add("resourcesUsed", resource(used));
    shown.addProperty("hideReservationQueues", false);
    shown.add("nodeLabels", labels(spec));
    shown.addProperty("allocatedContainers", status == null ? 0 : status.containers);
    shown.addProperty("reservedContainers", status == null ? 0 : status.reserved.containers);
    shown.addProperty("pendingContainers", status == null ? 0 : status.pending.containers);
    shown.add("capacities",
        wrapped("queueCapacitiesByPartition", capacities(index, status, shares)));
    shown.add("resources", wrapped("resourceUsagesByPartition", uses(spec, status)));
    shown.add("minEffectiveCapacity", resource(least(index, shares, status)));
    shown.add("maxEffectiveCapacity", resource(most(index, status)));
    shown.add("maximumAllocation", resource(largest));
    shown.add("queueAcls", wrapped("queueAcl", acls(spec)));
    shown.addProperty("queuePriority", 0);
    shown.addProperty("defaultPriority", number(spec, "default_priority", 0));
    shown.addProperty("maxApplicationLifetime", number(spec, "maximum_lifetime_s", NOT_SET));
    shown.addProperty("defaultApplicationLifetime", number(spec, "default_lifetime_s", NOT_SET));
    JsonElement preempts = specs.option(index, "preempt_after_ms");
    boolean isKept = preempts == null || preempts.getAsLong() == 0;
    JsonElement within = specs.option(index, "preempt_within");
    shown.addProperty("preemptionDisabled", isKept);
    shown.addProperty("intraQueuePreemptionDisabled",
        isKept || within == null || within.getAsString().equals("nothing"));
    if (leaf) {
      addLeaf(shown, index, status, shares);
    } else {
      shown.addProperty("orderingPolicyInfo", "utilization");
      shown.add("queues", wrapped("queue", children(index, shares)));
    }
    return shown;
  }

  private static void addShares(JsonObject shown, Shares shares, double usedOfCluster) {
    shown.addProperty("capacity", shares.capacity);
    shown.addProperty("usedCapacity",
        shares.ofCluster == 0 ? 0 : usedOfCluster / shares.ofCluster * PERCENT);
    shown.addProperty("maxCapacity", shares.maximum);
    shown.addProperty("absoluteCapacity", shares.ofCluster);
    shown.addProperty("absoluteMaxCapacity", shares.maximumOfCluster);
    shown.addProperty("absoluteUsedCapacity", usedOfCluster);
  }

  private JsonArray children(int index, Shares shares) {
    JsonArray children = new JsonArray();
    double weights = 0;
    for (int child : specs.below(index)) {
      weights += specs.get(child).get("weight").getAsDouble();
    }
    Map<String, Long> cluster = source.capacity();
    for (int child : specs.below(index)) {
      JsonObject spec = specs.get(child);
      double capacity = specs.isWeighted(child)
          ? PERCENT * spec.get("weight").getAsDouble() / weights
          : share(spec.getAsJsonObject("guaranteed"), cluster, shares.ofCluster);
      double maximum = share(spec.getAsJsonObject("maximum"), cluster, shares.maximumOfCluster);
      children.add(queue(child, new Shares(capacity, maximum,
          capacity * shares.ofCluster / PERCENT, maximum * shares.maximumOfCluster / PERCENT)));
    }
    return children;
  }

  /** Returns a limit in percent of the parent's, which is {@code parent} percent of the cluster. */
  private double share(JsonObject limit, Map<String, Long> cluster, double parent) {
    if (limit.has("ppm")) {
      return limit.get("ppm").getAsDouble() / PPM_PER_PERCENT;
    }
    Map<String, Long> amounts = new LinkedHashMap<>();
    limit.getAsJsonObject("amounts").entrySet()
        .forEach(each -> amounts.put(each.getKey(), each.getValue().getAsLong()));
    return parent == 0 ? 0 : Math.min(PERCENT, part(amounts, cluster) / parent * PERCENT);
  }

  /** Returns what part of the whole the amounts are, in percent: of memory, or of the largest. */
  private double part(Map<String, Long> amounts, Map<String, Long> whole) {
    double part = 0;
    for (Map.Entry<String, Long> each : amounts.entrySet()) {
      long of = whole.getOrDefault(each.getKey(), 0L);
      if (of > 0 && (!byMemory || each.getKey().equals("memory_mb"))) {
        part = Math.max(part, PERCENT * each.getValue() / of);
      }
    }
    return part;
  }

  private void addLeaf(JsonObject shown, int index, QueueStatus status, Shares shares) {
    JsonObject spec = specs.get(index);
    String path = spec.get("path").getAsString();
    Map<String, Long> most = most(index, status);
    double part = spec.get("user_limit_ppm").getAsDouble() / PPM_PER_PERCENT / PERCENT;
    int active = 0;
    int pending = 0;
    JsonArray listed = new JsonArray();
    for (UserStatus user : users.getOrDefault(path, Collections.<UserStatus>emptyList())) {
      active += user.active;
      pending += user.pending;
      JsonObject each = new JsonObject();
      each.addProperty("username", user.user);
      each.add("resourcesUsed", resource(user.used));
      each.addProperty("numActiveApplications", user.active);
      each.addProperty("numPendingApplications", user.pending);
      each.add("AMResourceUsed", resource(user.usedByAms));
      each.add("userResourceLimit", resource(scaled(most, part)));
      each.addProperty("userWeight", 1.0);
      each.addProperty("isActive", user.waits);
      listed.add(each);
    }
    JsonElement ordering = specs.option(index, "ordering");
    shown.addProperty("orderingPolicyInfo", ordering == null ? "fifo" : ordering.getAsString());
    shown.addProperty("numActiveApplications", active);
    shown.addProperty("numPendingApplications", pending);
    shown.addProperty("numContainers", status == null ? 0 : status.containers);
    long applications = number(spec, "maximum_applications", Integer.MAX_VALUE);
    shown.addProperty("maxApplications", applications);
    shown.addProperty("maxApplicationsPerUser",
        number(spec, "maximum_applications_per_user", applications));
    JsonElement limit = specs.option(index, "minimum_user_limit_percent");
    shown.addProperty("userLimit", limit == null ? PERCENT : limit.getAsDouble());
    JsonElement factor = specs.option(index, "user_limit_factor");
    shown.addProperty("userLimitFactor", factor != null ? factor.getAsDouble()
        : specs.policy(index).equals("capacity") ? 1
        : shares.ofCluster == 0 ? NOT_SET : part * shares.maximumOfCluster / shares.ofCluster);
    shown.add("users", wrapped("user", listed));
    double amShare = spec.get("am_share_ppm").getAsDouble() / PPM_PER_PERCENT / PERCENT;
    shown.addProperty("configuredMaxAMResourceLimit", amShare);
    shown.add("AMResourceLimit", resource(scaled(most, amShare)));
    shown.add("userAMResourceLimit", resource(scaled(most, amShare)));
    shown.add("usedAMResource", resource(status == null ? null : status.state.usedByAms));
    shown.addProperty("isAutoCreatedLeafQueue", false);
  }

  private static Map<String, Long> scaled(Map<String, Long> amounts, double part) {
    Map<String, Long> scaled = new LinkedHashMap<>();
    amounts.forEach((name, amount) -> scaled.put(name, (long) (amount * part)));
    return scaled;
  }

  /** Returns what a queue is guaranteed of the nodes without a label. */
  private Map<String, Long> least(int index, Shares shares, QueueStatus status) {
    Map<String, Long> whole = whole(DEFAULT_PARTITION);
    boolean stated = !specs.get(index).getAsJsonObject("guaranteed").has("ppm");
    return stated && status != null ? within(status.guaranteed, whole)
        : scaled(whole, shares.ofCluster / PERCENT);
  }

  /** Returns what a queue may use of the nodes without a label; its maximum is of all nodes. */
  private Map<String, Long> most(int index, QueueStatus status) {
    Map<String, Long> whole = whole(DEFAULT_PARTITION);
    return index == 0 || status == null ? whole : within(status.maximum, whole);
  }

  private static Map<String, Long> within(Map<String, Long> amounts, Map<String, Long> whole) {
    Map<String, Long> within = new LinkedHashMap<>();
    whole.forEach((name, amount) ->
        within.put(name, Math.min(amount, amounts.getOrDefault(name, amount))));
    return within;
  }

  private JsonArray capacities(int index, QueueStatus status, Shares shares) {
    JsonObject spec = specs.get(index);
    JsonArray found = new JsonArray();
    for (String partition : shownPartitions(spec, status)) {
      JsonObject shown = new JsonObject();
      shown.addProperty("partitionName", partition);
      boolean own = !partition.equals(DEFAULT_PARTITION) && index > 0;
      Shares here = own ? onLabel(spec, partition, status) : shares;
      addShares(shown, here, part(used(status, partition), whole(partition)));
      shown.addProperty("maxAMLimitPercentage", spec.get("leaf").getAsBoolean()
          ? spec.get("am_share_ppm").getAsDouble() / PPM_PER_PERCENT : 0);
      shown.add("configuredMinResource", resource(stated(spec, "guaranteed", partition)));
      shown.add("configuredMaxResource", resource(stated(spec, "maximum", partition)));
      boolean whole = !partition.equals(DEFAULT_PARTITION) && index == 0;
      shown.add("effectiveMinResource", resource(whole ? whole(partition)
          : own ? leastOn(status, partition) : least(index, shares, status)));
      shown.add("effectiveMaxResource", resource(whole ? whole(partition)
          : own ? mostOn(status, partition) : most(index, status)));
      found.add(shown);
    }
    return found;
  }

  /** Returns the amounts that the file states for the nodes without a label; null: none. */
  private static Map<String, Long> stated(JsonObject spec, String key, String partition) {
    JsonElement amounts = spec.getAsJsonObject(key).get("amounts");
    if (amounts == null || !partition.equals(DEFAULT_PARTITION)) {
      return null;
    }
    Map<String, Long> stated = new LinkedHashMap<>();
    amounts.getAsJsonObject().entrySet()
        .forEach(each -> stated.put(each.getKey(), each.getValue().getAsLong()));
    return stated;
  }

  private Shares onLabel(JsonObject spec, String label, QueueStatus status) {
    double capacity = ppm(spec, "label_guaranteed_ppm", label, 0);
    double maximum = ppm(spec, "label_maximum_ppm", label, PERCENT);
    return new Shares(capacity, maximum, part(leastOn(status, label), whole(label)),
        part(mostOn(status, label), whole(label)));
  }

  private static Map<String, Long> leastOn(QueueStatus status, String label) {
    LabelStatus found = status == null ? null : status.state.labels.get(label);
    return found == null || found.guaranteed == null ? Collections.<String, Long>emptyMap()
        : found.guaranteed;
  }

  private Map<String, Long> mostOn(QueueStatus status, String label) {
    LabelStatus found = status == null ? null : status.state.labels.get(label);
    return found == null || found.maximum == null ? whole(label)
        : within(found.maximum, whole(label));
  }

  private static double ppm(JsonObject spec, String key, String label, double absent) {
    JsonElement found = spec.has(key) ? spec.getAsJsonObject(key).get(label) : null;
    return found == null ? absent : found.getAsDouble() / PPM_PER_PERCENT;
  }

  private JsonArray uses(JsonObject spec, QueueStatus status) {
    JsonArray found = new JsonArray();
    for (String partition : shownPartitions(spec, status)) {
      JsonObject shown = new JsonObject();
      shown.addProperty("partitionName", partition);
      shown.add("used", resource(used(status, partition)));
      shown.add("reserved", resource(status == null ? null
          : on(status, partition, status.reserved.amounts, label -> label.reserved)));
      shown.add("pending", resource(status == null ? null
          : on(status, partition, status.pending.amounts, label -> label.pending)));
      boolean named = !partition.equals(DEFAULT_PARTITION);
      shown.add("amUsed", resource(named || status == null ? null : status.state.usedByAms));
      found.add(shown);
    }
    return found;
  }

  /** Returns the partitions that a queue may use, and those where it has something. */
  private TreeSet<String> shownPartitions(JsonObject spec, QueueStatus status) {
    TreeSet<String> shown = new TreeSet<>(partitions.keySet());
    if (spec.has("labels")) {
      List<String> named = new ArrayList<>();
      spec.getAsJsonArray("labels").forEach(each -> named.add(each.getAsString()));
      shown.retainAll(named);
    }
    shown.add(DEFAULT_PARTITION);
    if (status != null) {
      shown.addAll(status.state.labels.keySet());
    }
    return shown;
  }

  private Map<String, Long> whole(String partition) {
    Map<String, Long> found = partitions.get(partition);
    return found == null ? Collections.<String, Long>emptyMap() : found;
  }

  private static Map<String, Long> used(QueueStatus status, String partition) {
    return status == null ? Collections.<String, Long>emptyMap()
        : on(status, partition, status.used, label -> label.used);
  }

  /** Returns the part of a queue's total that is of the nodes of a label, or of those without. */
  private static Map<String, Long> on(QueueStatus status, String partition,
      Map<String, Long> total, Function<LabelStatus, Map<String, Long>> part) {
    if (!partition.equals(DEFAULT_PARTITION)) {
      LabelStatus label = status.state.labels.get(partition);
      return label == null ? Collections.<String, Long>emptyMap() : part.apply(label);
    }
    Map<String, Long> left = new LinkedHashMap<>(total);
    for (LabelStatus label : status.state.labels.values()) {
      part.apply(label).forEach((name, amount) -> left.merge(name, -amount, Long::sum));
    }
    return left;
  }

  private static String state(QueueStatus status) {
    return status == null ? "RUNNING" : status.state.name.toUpperCase(Locale.ROOT);
  }

  private static JsonArray labels(JsonObject spec) {
    if (spec.has("labels")) {
      return spec.getAsJsonArray("labels");
    }
    JsonArray all = new JsonArray();
    all.add(new JsonPrimitive("*"));
    return all;
  }

  private static JsonArray acls(JsonObject spec) {
    JsonArray acls = new JsonArray();
    for (String[] each : new String[][] {{"ADMINISTER_QUEUE", "administer"},
        {"APPLICATION_MAX_PRIORITY", ""}, {"SUBMIT_APP", "submit"}}) {
      JsonObject acl = new JsonObject();
      acl.addProperty("accessType", each[0]);
      acl.addProperty("accessControlList",
          each[1].isEmpty() ? "*" : QueueSpecs.acl(spec.getAsJsonArray(each[1])));
      acls.add(acl);
    }
    return acls;
  }

  private JsonObject health() {
    JsonObject health = new JsonObject();
    health.addProperty("lastrun", source.startedAtMs());
    health.add("operationsInfo", new JsonArray());
    health.add("lastRunDetails", new JsonArray());
    return health;
  }

  private static long number(JsonObject spec, String key, long absent) {
    return spec.has(key) ? spec.get(key).getAsLong() : absent;
  }

  static JsonObject wrapped(String name, JsonElement content) {
    JsonObject wrapped = new JsonObject();
    wrapped.add(name, content);
    return wrapped;
  }

  /** Returns amounts as YARN's documents have them. */
  private static JsonObject resource(Map<String, Long> amounts) {
    Map<String, Long> known = amounts == null ? Collections.<String, Long>emptyMap() : amounts;
    JsonObject resource = new JsonObject();
    resource.addProperty("memory", known.getOrDefault("memory_mb", 0L));
    resource.addProperty("vCores", known.getOrDefault("vcores", 0L));
    JsonArray all = new JsonArray();
    Map<String, Long> shown = new LinkedHashMap<>();
    shown.put("memory_mb", 0L);
    shown.put("vcores", 0L);
    shown.putAll(known);
    for (Map.Entry<String, Long> each : shown.entrySet()) {
      boolean memory = each.getKey().equals("memory_mb");
      JsonObject one = new JsonObject();
      one.add("attributes", new JsonObject());
      one.addProperty("name", memory ? "memory-mb" : each.getKey());
      one.addProperty("resourceType", "COUNTABLE");
      one.addProperty("units", memory ? "Mi" : "");
      one.addProperty("value", each.getValue());
      all.add(one);
    }
    resource.add("resourceInformations", wrapped("resourceInformation", all));
    return resource;
  }
}
