package org.loomcard.yarn.web.tables;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.DIV;
import org.junit.Test;
import org.loomcard.yarn.wire.Golden;

/** Reports as the page shows them. */
public final class ReportTablesTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** The page writes values as {@code loomcard status} does. */
  @Test
  public void valuesAreWrittenAsTheCommandWritesThem() throws Exception {
    JsonNode golden = JSON.readTree(new File(Golden.repository(), "tests/golden/shown.json"));
    for (JsonNode each : golden) {
      assertEquals(each.toString(), each.path("text").asText(),
          FigureText.text(each, each.path("value")));
    }
    assertTrue(golden.size() > 10);
  }

  /** Queues with the same figures share a table; others, and those without a report, do not. */
  @Test
  public void queuesWithTheSameFiguresAreRowsOfOneTable() {
    ArrayNode queues = JSON.createArrayNode();
    queue(queues, "root", null);
    queue(queues, "root.a", JSON.createObjectNode().put("use", 1).put("why", "x"));
    queue(queues, "root.b", JSON.createObjectNode().put("other", 2));
    queue(queues, "root.c", JSON.createObjectNode().put("use", 3).putNull("why"));
    String shown = shown(queues).replaceAll("<[^>]*>", " ").replaceAll("\\s+", " ").trim();
    assertEquals("What policies report Queue use why root.a 1 x root.c 3 - root.b other 2", shown);
  }

  /** A queue's own report does not take the place of what the policy above reports of it. */
  @Test
  public void reportsFromAboveStandBesideTheQueuesOwn() {
    ArrayNode queues = JSON.createArrayNode();
    queues.addObject().put("path", "root.a")
        .<ObjectNode>set("report", JSON.createObjectNode().put("delta", 1))
        .set("report_from_above", JSON.createObjectNode().put("share", 2));
    String shown = shown(queues).replaceAll("<[^>]*>", " ").replaceAll("\\s+", " ").trim();
    assertEquals("What policies report root.a delta 1 root.a from above share 2", shown);
  }

  /** No heading where nobody reports. */
  @Test
  public void nothingIsShownOfNothing() {
    ArrayNode queues = JSON.createArrayNode();
    queue(queues, "root", null);
    assertEquals("", shown(queues).replaceAll("<[^>]*>", "").trim());
  }

  private static void queue(ArrayNode queues, String path, ObjectNode report) {
    queues.addObject().put("path", path).set("report", report);
  }

  private static String shown(JsonNode queues) {
    StringWriter text = new StringWriter();
    PrintWriter out = new PrintWriter(text);
    DIV<Hamlet> page = new Hamlet(out, 0, false).div();
    ReportTables.render(page, queues);
    page.__();
    out.flush();
    return text.toString();
  }
}
