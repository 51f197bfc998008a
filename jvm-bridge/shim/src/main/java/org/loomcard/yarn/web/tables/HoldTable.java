package org.loomcard.yarn.web.tables;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.DIV;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.TABLE;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.TBODY;

/** The holds, a row each. */
public final class HoldTable {
  private HoldTable() {
  }

  /** Nothing where nothing is held. */
  public static void render(DIV<Hamlet> page, JsonNode holds) {
    if (holds.size() == 0) {
      return;
    }
    page.h2("Room held on nodes");
    TBODY<TABLE<DIV<Hamlet>>> body = page.table("#holds").thead().tr()
        .th("Node").th("Application").th("Queue").th("Priority").th("Room").__().__().tbody();
    for (JsonNode hold : holds) {
      String id = hold.path("application").asText();
      body.tr().td(hold.path("node").asText()).td().a("/cluster/app/" + id, id).__()
          .td(hold.path("queue").asText())
          .td(".number", hold.path("priority").asText())
          .td(AmountText.text(hold.path("resource"))).__();
    }
    body.__().__();
  }
}
