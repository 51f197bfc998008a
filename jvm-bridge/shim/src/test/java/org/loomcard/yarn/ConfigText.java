package org.loomcard.yarn;

import java.util.ArrayList;
import java.util.List;

/** Compiled policy configurations for tests, as Python would write them. */
public final class ConfigText {
  private final List<String> queues = new ArrayList<>();
  private String needs = "";

  /** root with one leaf, root.default, open to everyone, without limits. */
  public static String oneQueue() {
    return new ConfigText().queue("root", -1, false, "").queue("root.default", 0, true, "").text();
  }

  /** @param extra further keys, such as {@code "maximum":{"ppm":500000}} */
  public ConfigText queue(String path, int parent, boolean leaf, String extra) {
    StringBuilder queue = new StringBuilder("{");
    if (!extra.contains("\"administer\"")) {
      queue.append("\"administer\":[],");
    }
    if (!extra.contains("\"submit\"")) {
      queue.append("\"submit\":[\"*\"],");
    }
    queue.append(extra.isEmpty() ? "" : extra
        + ",").append("\"leaf\":").append(leaf).append(",\"options\":{},")
        .append("\"parent\":").append(parent < 0 ? "null"
        : parent).append(",\"path\":\"").append(path)
        .append("\",\"policy\":\"fifo\",\"policy_named\":false,\"walked\":false")
        .append(extra.contains("\"weight\"") ? "}" : ",\"weight\":1.0}");
    queues.add(queue.toString());
    return this;
  }

  public ConfigText heartbeats() {
    needs = "\"heartbeats\"";
    return this;
  }

  public String text() {
    return "{\"hash\":\"h\",\"needs\":[" + needs + "],\"queues\":[" + String.join(",", queues)
        + "],\"schema\":1,\"source\":\"test.yml\"}";
  }
}
