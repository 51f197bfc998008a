package org.loomcard.yarn.web;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;

/**
 * The policy configuration as properties of CapacityScheduler, for clients that read {@code
 * /ws/v1/cluster/scheduler-conf}.
 */
final class SchedulerConf {
  private static final String PREFIX = "yarn.scheduler.capacity.";
  private static final double PPM_PER_PERCENT = 10_000;
  private final QueueSpecs specs;
  private final JsonArray properties = new JsonArray();

  private SchedulerConf(QueueSpecs specs) {
    this.specs = specs;
  }

  /**
   * Returns the document.
   *
   * @param specs the queues of the compiled policy configuration
   */
  static JsonObject of(JsonArray specs) {
    SchedulerConf conf = new SchedulerConf(new QueueSpecs(specs));
    for (int i = 0; i < specs.size(); i++) {
      conf.addQueue(i);
    }
    JsonObject document = new JsonObject();
    document.add("property", conf.properties);
    return document;
  }

  private void addQueue(int index) {
    JsonObject spec = specs.get(index);
    String path = spec.get("path").getAsString();
    List<String> below = new ArrayList<>();
    for (int child : specs.below(index)) {
      String full = specs.get(child).get("path").getAsString();
      below.add(full.substring(full.lastIndexOf('.') + 1));
    }
    if (!below.isEmpty()) {
      add(path, "queues", String.join(",", below));
    }
    if (index > 0) {
      add(path, "capacity", specs.isWeighted(index)
          ? spec.get("weight").getAsString() + "w" : limit(spec.getAsJsonObject("guaranteed")));
      add(path, "maximum-capacity", limit(spec.getAsJsonObject("maximum")));
    }
    add(path, "state", spec.has("state") && !spec.get("state").getAsString().equals("running")
        ? "STOPPED" : "RUNNING");
    add(path, "acl_submit_applications",
        QueueSpecs.acl(spec.getAsJsonArray("submit")));
    add(path, "acl_administer_queue",
        QueueSpecs.acl(spec.getAsJsonArray("administer")));
    if (spec.get("leaf").getAsBoolean()) {
      add(path, "maximum-am-resource-percent", String.valueOf(
          spec.get("am_share_ppm").getAsDouble() / PPM_PER_PERCENT / 100));
    }
    if (spec.has("maximum_applications")) {
      add(path, "maximum-applications", spec.get("maximum_applications").getAsString());
    }
    if (spec.has("maximum_running_applications")) {
      add(path, "max-parallel-apps", spec.get("maximum_running_applications").getAsString());
    }
  }

  private static String limit(JsonObject limit) {
    if (limit.has("ppm")) {
      return String.valueOf(limit.get("ppm").getAsDouble() / PPM_PER_PERCENT);
    }
    List<String> parts = new ArrayList<>();
    limit.getAsJsonObject("amounts").entrySet().forEach(each -> parts.add(
        (each.getKey().equals("memory_mb") ? "memory" : each.getKey()) + "="
            + each.getValue().getAsString()));
    return "[" + String.join(",", parts) + "]";
  }

  private void add(String path, String key, String value) {
    JsonObject property = new JsonObject();
    property.addProperty("name", PREFIX + path + "." + key);
    property.addProperty("value", value);
    properties.add(property);
  }
}
