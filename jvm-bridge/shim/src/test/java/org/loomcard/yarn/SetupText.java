package org.loomcard.yarn;

import java.util.ArrayList;
import java.util.List;

/** Compiled set-ups for tests, as Python would write them. */
final class SetupText {
  private final List<String> queues = new ArrayList<>();
  private String needs = "";

  /** root with the one leaf root.default, open to everyone, without limits. */
  static String oneQueue() {
    return new SetupText().queue("root", -1, false, "").queue("root.default", 0, true, "").text();
  }

  /** @param extra further keys, such as {@code "maximum":{"ppm":500000}} */
  SetupText queue(String path, int parent, boolean leaf, String extra) {
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
        .append("\",\"policy\":\"fifo\",\"policy_named\":false,\"walked\":false,\"weight\":1.0}");
    queues.add(queue.toString());
    return this;
  }

  SetupText heartbeats() {
    needs = "\"heartbeats\"";
    return this;
  }

  String text() {
    return "{\"hash\":\"h\",\"needs\":[" + needs + "],\"queues\":[" + String.join(",", queues)
        + "],\"schema\":1,\"source\":\"test.yml\"}";
  }
}
