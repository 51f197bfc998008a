package org.loomcard.yarn.web.tables;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.DIV;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.TABLE;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.TBODY;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.THEAD;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.TR;

/**
 * What policies report about queues, as tables. Queues with the same figures share one table, with
 * one row per queue. A queue with different figures has its own table of figures and values. Then
 * each table of a report follows.
 */
public final class ReportTables {

  private ReportTables() {
  }

  /** Renders the tables of all queues that have a report; nothing if no queue has one. */
  public static void render(DIV<Hamlet> page, JsonNode queues) {
    Map<String, List<JsonNode>> alike = new LinkedHashMap<>();
    for (JsonNode queue : queues) {
      group(alike, queue);
      group(alike, JsonNodeFactory.instance.objectNode()
          .put("path", queue.path("path").asText() + " from above")
          .set("report", queue.path("report_from_above")));
    }
    if (!alike.isEmpty()) {
      page.h2("What policies report");
    }
    for (List<JsonNode> group : alike.values()) {
      figures(page, group);
      for (JsonNode queue : group) {
        for (JsonNode table : queue.path("report").path("tables")) {
          table(page, queue, table);
        }
      }
    }
  }

  private static void group(Map<String, List<JsonNode>> alike, JsonNode queue) {
    if (queue.path("report").isObject()) {
      String headings = headings(figures(queue.path("report"))).toString();
      alike.computeIfAbsent(headings, key -> new ArrayList<>()).add(queue);
    }
  }

  private static void figures(DIV<Hamlet> page, List<JsonNode> queues) {
    JsonNode first = queues.get(0);
    List<JsonNode> figures = figures(first.path("report"));
    if (figures.isEmpty()) {
      return;
    }
    if (queues.size() == 1) {
      page.h3(first.path("path").asText());
      TBODY<TABLE<DIV<Hamlet>>> body = page.table().tbody();
      for (JsonNode figure : figures) {
        TR<TBODY<TABLE<DIV<Hamlet>>>> row = body.tr();
        row.th(figure.path("label").asText());
        cell(row, figure.path("value"), FigureText.withUnit(figure));
        row.__();
      }
      body.__().__();
      return;
    }
    List<String> headings = headings(figures);
    headings.add(0, "Queue");
    TBODY<TABLE<DIV<Hamlet>>> body = head(page, headings);
    for (JsonNode queue : queues) {
      TR<TBODY<TABLE<DIV<Hamlet>>>> row = body.tr();
      row.td(queue.path("path").asText());
      for (JsonNode figure : figures(queue.path("report"))) {
        cell(row, figure.path("value"), FigureText.text(figure, figure.path("value")));
      }
      row.__();
    }
    body.__().__();
  }

  private static void table(DIV<Hamlet> page, JsonNode queue, JsonNode table) {
    if (table.path("rows").size() == 0) {
      return;
    }
    page.h3(table.path("label").asText() + " of " + queue.path("path").asText());
    TBODY<TABLE<DIV<Hamlet>>> body = head(page, headings(table.path("columns")));
    for (JsonNode values : table.path("rows")) {
      TR<TBODY<TABLE<DIV<Hamlet>>>> row = body.tr();
      int index = 0;
      for (JsonNode column : table.path("columns")) {
        JsonNode value = values.path(index++);
        cell(row, value, FigureText.text(column, value));
      }
      row.__();
    }
    body.__().__();
  }

  private static TBODY<TABLE<DIV<Hamlet>>> head(DIV<Hamlet> page, List<String> headings) {
    TABLE<DIV<Hamlet>> table = page.table();
    TR<THEAD<TABLE<DIV<Hamlet>>>> row = table.thead().tr();
    for (String heading : headings) {
      row.th(heading);
    }
    row.__().__();
    return table.tbody();
  }

  private static void cell(TR<TBODY<TABLE<DIV<Hamlet>>>> row, JsonNode value, String text) {
    if (value.isNumber()) {
      row.td(".number", text);
    } else {
      row.td(text);
    }
  }

  /** Returns the figures of either form of report: a plain one has one figure per key. */
  private static List<JsonNode> figures(JsonNode report) {
    List<JsonNode> figures = new ArrayList<>();
    if (report.path("typed").asInt() == 1) {
      report.path("figures").forEach(figures::add);
      return figures;
    }
    Iterator<Map.Entry<String, JsonNode>> fields = report.fields();
    while (fields.hasNext()) {
      Map.Entry<String, JsonNode> field = fields.next();
      ObjectNode figure = JsonNodeFactory.instance.objectNode().put("label", field.getKey());
      figure.set("value", field.getValue());
      figures.add(figure);
    }
    return figures;
  }

  private static List<String> headings(Iterable<JsonNode> columns) {
    List<String> headings = new ArrayList<>();
    for (JsonNode column : columns) {
      headings.add(FigureText.heading(column));
    }
    return headings;
  }
}
