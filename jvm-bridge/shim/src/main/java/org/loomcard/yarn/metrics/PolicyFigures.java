package org.loomcard.yarn.metrics;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.Map;
import org.apache.hadoop.metrics2.MetricsCollector;
import org.apache.hadoop.metrics2.MetricsRecordBuilder;
import org.apache.hadoop.metrics2.lib.Interns;

/**
 * The figures of policies' reports that are to be kept over time: those of a typed report that have
 * a panel and a number. Each queue with such figures is a record with the tag {@code Queue}.
 */
final class PolicyFigures {
  static final String NAME = "LoomcardPolicy";

  private PolicyFigures() {
  }

  /** Adds the figures of {@code reports}, which are JSON texts by queue path. */
  static void add(MetricsCollector collector, Map<String, String> reports) {
    for (Map.Entry<String, String> each : reports.entrySet()) {
      JsonElement report = new JsonParser().parse(each.getValue());
      JsonElement figures = report.isJsonObject() ? report.getAsJsonObject().get("figures") : null;
      if (figures != null && figures.isJsonArray()) {
        add(collector, each.getKey(), figures.getAsJsonArray());
      }
    }
  }

  private static void add(MetricsCollector collector, String queue, JsonArray figures) {
    MetricsRecordBuilder record = null;
    for (JsonElement each : figures) {
      if (!isKept(each)) {
        continue;
      }
      if (record == null) {
        record = collector.addRecord(NAME).setContext("yarn")
            .tag(Interns.info("Queue", "About which queue the policy reports"), queue);
      }
      JsonObject figure = each.getAsJsonObject();
      String label = figure.get("label").getAsString();
      record.addGauge(Interns.info(MetricNames.camel(figure.get("name").getAsString()), label),
          figure.get("value").getAsDouble());
    }
  }

  /** A plain report may have a key {@code figures} too, with anything in it. */
  private static boolean isKept(JsonElement element) {
    if (!element.isJsonObject()) {
      return false;
    }
    JsonObject figure = element.getAsJsonObject();
    JsonElement value = figure.get("value");
    return figure.has("name") && figure.has("label") && figure.has("panel")
        && value != null && value.isJsonPrimitive() && value.getAsJsonPrimitive().isNumber();
  }
}
