package org.loomcard.yarn.web.tables;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.DIV;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.TABLE;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.TBODY;

/**
 * The limits that queues state, one row each: queue, limit, at most, now. {@code loomcard status}
 * writes the same rows (cluster/limits.py); tests/golden/limits.json tests both.
 */
public final class LimitTable {
  private static final int WHOLE = 1_000_000;
  private final String path;
  private final List<String[]> rows;

  private LimitTable(String path, List<String[]> rows) {
    this.path = path;
    this.rows = rows;
  }

  /** Renders the table; nothing if no queue states a limit. */
  public static void render(DIV<Hamlet> page, JsonNode queues) {
    List<String[]> rows = rows(queues);
    if (rows.isEmpty()) {
      return;
    }
    page.h2("Limits of queues");
    TBODY<TABLE<DIV<Hamlet>>> body = page.table("#limits").thead().tr()
        .th("Queue").th("Limit").th("At most").th("Now").__().__().tbody();
    for (String[] row : rows) {
      body.tr().td(row[0]).td(row[1]).td(row[2]).td(row[3]).__();
    }
    body.__().__();
  }

  static List<String[]> rows(JsonNode queues) {
    List<String[]> rows = new ArrayList<>();
    for (JsonNode queue : queues) {
      new LimitTable(queue.path("path").asText(), rows).add(queue);
    }
    return rows;
  }

  private void add(JsonNode queue) {
    JsonNode limits = queue.path("limits");
    String state = queue.path("state").asText("running");
    if (!state.equals("running")) {
      row("state", "no new applications", state);
    }
    count(limits, "maximum_applications", "applications", queue.path("applications").asText("0"));
    count(limits, "maximum_applications_per_user", "applications of one user",
        users(queue.path("applications_by_user")));
    share(queue, queue.path("user_limit_ppm"), "use by one user", "");
    share(queue, queue.path("am_share_ppm"), "application masters",
        AmountText.text(queue.path("used_by_ams")));
    share(queue, limits.path("reservation_share_ppm"), "room reserved for asks", "");
    count(limits, "reservation_nodes", "nodes reserved for one application", "");
    if (limits.has("maximum_allocation")) {
      row("one container", AmountText.text(limits.get("maximum_allocation")), "");
    }
    seconds(limits, "maximum_lifetime_s", "lifetime of an application");
    seconds(limits, "default_lifetime_s", "lifetime where none is stated");
    if (limits.has("labels")) {
      row("labels", names(limits.get("labels")), "");
    }
    if (limits.has("default_label")) {
      row("label of asks without one", limits.get("default_label").asText(), "");
    }
  }

  private void row(String limit, String most, String now) {
    rows.add(new String[] {path, limit, most, now});
  }

  private void count(JsonNode limits, String key, String limit, String now) {
    if (limits.has(key)) {
      row(limit, String.format(Locale.ROOT, "%,d", limits.get(key).asLong()), now);
    }
  }

  private void seconds(JsonNode limits, String key, String limit) {
    if (limits.has(key)) {
      row(limit, String.format(Locale.ROOT, "%,d s", limits.get(key).asLong()), "");
    }
  }

  private void share(JsonNode queue, JsonNode part, String limit, String now) {
    int ppm = part.asInt(WHOLE);
    if (ppm < WHOLE) {
      row(limit, AmountText.text(AmountText.part(queue.path("maximum"), ppm)), now);
    }
  }

  private static String users(JsonNode counts) {
    StringBuilder text = new StringBuilder();
    Iterator<Map.Entry<String, JsonNode>> users = counts.fields();
    while (users.hasNext()) {
      Map.Entry<String, JsonNode> user = users.next();
      text.append(text.length() == 0 ? "" : ", ").append(user.getKey()).append(' ')
          .append(user.getValue().asLong());
    }
    return text.toString();
  }

  private static String names(JsonNode names) {
    StringBuilder text = new StringBuilder();
    for (JsonNode name : names) {
      text.append(text.length() == 0 ? "" : ", ").append(name.asText());
    }
    return text.length() == 0 ? "none" : text.toString();
  }
}
