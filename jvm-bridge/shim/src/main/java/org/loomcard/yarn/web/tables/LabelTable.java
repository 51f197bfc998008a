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
 * The use and limits of queues on the nodes of each label, one row per queue and label. {@code
 * loomcard status} writes the same rows (cluster/limits.py); tests/golden/limits.json tests both.
 */
public final class LabelTable {
  private static final double PPM_A_PERCENT = 10_000;

  private LabelTable() {
  }

  /** Renders the table; nothing if no queue uses or states anything by label. */
  public static void render(DIV<Hamlet> page, JsonNode queues) {
    List<String[]> rows = rows(queues);
    if (rows.isEmpty()) {
      return;
    }
    page.h2("Queues on labelled nodes");
    TBODY<TABLE<DIV<Hamlet>>> body = page.table("#labels").thead().tr()
        .th("Label").th("Queue").th("Guaranteed").th("Used").th("Of that, lent").th("At most")
        .__().__().tbody();
    for (String[] row : rows) {
      body.tr().td(row[0]).td(row[1]).td(row[2]).td(row[3]).td(row[4]).td(row[5]).__();
    }
    body.__().__();
    page.p().__("Lent: held by containers that asked for no label. Those that ran before "
        + "this ResourceManager started count as asked for.").__();
  }

  /** Returns label, queue, guaranteed, used, lent, at most; by label, then in the queues' order. */
  static List<String[]> rows(JsonNode queues) {
    List<String[]> rows = new ArrayList<>();
    for (JsonNode queue : queues) {
      Iterator<Map.Entry<String, JsonNode>> labels = queue.path("by_label").fields();
      while (labels.hasNext()) {
        Map.Entry<String, JsonNode> label = labels.next();
        JsonNode on = label.getValue();
        JsonNode part = queue.path("limits").path("label_guaranteed_ppm").path(label.getKey());
        String most = on.path("maximum").isObject() ? AmountText.text(on.get("maximum"))
            : "no limit";
        rows.add(new String[] {label.getKey(), queue.path("path").asText(),
            promise(on.path("guaranteed"), part), AmountText.held(on.path("used")),
            AmountText.held(on.path("lent")), most});
      }
    }
    rows.sort((one, other) -> one[0].compareTo(other[0])); // stable
    return rows;
  }

  private static String promise(JsonNode amounts, JsonNode ppm) {
    return !amounts.isObject() || ppm.isMissingNode() ? "-"
        : String.format(Locale.ROOT, "%s (%.1f %% of the parent's)", AmountText.text(amounts),
            ppm.asLong() / PPM_A_PERCENT);
  }
}
