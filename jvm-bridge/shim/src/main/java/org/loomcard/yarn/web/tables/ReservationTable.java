package org.loomcard.yarn.web.tables;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.DIV;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.TABLE;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.TBODY;

/** The reservations, one row each. */
public final class ReservationTable {
  private ReservationTable() {
  }

  /** Renders the table; nothing if nothing is reserved. */
  public static void render(DIV<Hamlet> page, JsonNode reservations) {
    if (reservations.size() == 0) {
      return;
    }
    page.h2("Room reserved on nodes");
    TBODY<TABLE<DIV<Hamlet>>> body = page.table("#reservations").thead().tr()
        .th("Node").th("Application").th("Queue").th("Priority").th("Room").__().__().tbody();
    for (JsonNode reservation : reservations) {
      String id = reservation.path("application").asText();
      body.tr().td(reservation.path("node").asText()).td().a("/cluster/app/" + id, id).__()
          .td(reservation.path("queue").asText())
          .td(".number", reservation.path("priority").asText())
          .td(AmountText.text(reservation.path("resource"))).__();
    }
    body.__().__();
  }
}
