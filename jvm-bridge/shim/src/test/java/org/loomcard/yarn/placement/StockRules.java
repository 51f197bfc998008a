package org.loomcard.yarn.placement;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.json.JsonText;
import org.loomcard.yarn.json.MessageException;
import org.loomcard.yarn.queues.Placement;
import org.loomcard.yarn.queues.QueueNames;

/** Placement rules of ours, written down in place of stock ones, and the queues they are for. */
final class StockRules {
  private final List<String> rules = new ArrayList<>();
  private final ConfigText queues = new ConfigText();
  private final Map<String, Integer> numbers = new LinkedHashMap<>();

  /** Adds a queue; {@code depth} above 0: so many levels may be created below it. */
  StockRules queue(String path, boolean leaf, int depth) {
    String row = "{\"administer\":[],\"leaf\":LEAF,\"options\":{},\"policy\":\"fifo\","
        + "\"submit\":[\"*\"]}";
    String extra = depth == 0 ? "" : "\"auto_create\":{\"depth\":" + depth
        + ",\"maximum_queues\":1000,\"template\":" + row.replace("LEAF", "true")
        + ",\"between\":" + row.replace("LEAF", "false") + "}";
    int dot = path.lastIndexOf('.');
    queues.queue(path, dot < 0 ? -1 : numbers.get(path.substring(0, dot)), leaf, extra);
    numbers.put(path, numbers.size());
    return this;
  }

  void clear() {
    rules.clear();
  }

  /**
   * Adds a rule.
   *
   * @param condition such as {@code "user":["alice"]}, or empty
   * @param create empty, {@code leaf} or {@code all}
   * @param otherwise {@code next}, {@code reject} or a path
   */
  void add(String condition, String queue, String create, String otherwise) {
    StringBuilder rule = new StringBuilder("{").append(condition.isEmpty() ? "" : condition + ",");
    JsonText.quote(rule.append("\"queue\":"), queue);
    rule.append(create.isEmpty() ? "" : ",\"create\":\"" + create + "\"");
    JsonText.quote(rule.append(",\"else\":"), otherwise);
    rules.add(rule.append('}').toString());
  }

  void reject(String condition) {
    rules.add("{" + (condition.isEmpty() ? "" : condition + ",") + "\"reject\":true}");
  }

  String text() {
    return "{\"placement\":[" + String.join(",", rules) + "]," + queues.text().substring(1);
  }

  PolicyConfig config() throws MessageException {
    return PolicyConfig.read(text());
  }

  /** Where an application goes; null if it is refused. */
  static Placement.Outcome place(PolicyConfig config, String user, List<String> groups, String name,
      String queue) {
    return Placement.place(config.placement, new QueueNames(config),
        new Placement.Submission(user, () -> groups, name, null, queue));
  }
}
