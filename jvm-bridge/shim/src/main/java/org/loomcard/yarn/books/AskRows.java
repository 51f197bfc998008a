package org.loomcard.yarn.books;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.bridge.AskText;

/** The rows of one attempt's asks; YARN keeps one for each host, rack and {@code *} named. */
final class AskRows {
  private final LoomcardAttempt attempt;
  /** Never less than there are; that spares the heartbeats of ordinary AMs a count. */
  private final AtomicLong bound = new AtomicLong();

  AskRows(LoomcardAttempt attempt) {
    this.attempt = attempt;
  }

  /** The number of all rows, or a greater one that is not above {@code enough}. */
  long atMost(long enough) {
    long before = bound.get();
    if (before <= enough) {
      return before;
    }
    long counted = attempt.getAppSchedulingInfo().getAllResourceRequests().size();
    bound.addAndGet(counted - before); // rows may have come in between
    return counted;
  }

  /** As many rows are about to be added, or fewer. */
  void coming(int rows) {
    bound.addAndGet(rows);
  }

  /**
   * Drops the hosts and racks that the AM took back. YARN keeps a row of 0 containers, though it
   * means as much as none, and they would add up over the life of an attempt.
   */
  void dropEmpty(List<ResourceRequest> asks) {
    for (ResourceRequest ask : asks) {
      String name = ask.getResourceName();
      if (ask.getNumContainers() <= 0 && !name.equals(ResourceRequest.ANY)) {
        Map<String, ResourceRequest> rows =
            HadoopLine.rows(attempt, SchedulerRequestKey.create(ask));
        if (!rows.isEmpty()) { // else YARN dropped the whole ask, and there is no map to change
          rows.computeIfPresent(name, (same, row) -> row.getNumContainers() > 0 ? row : null);
        }
      }
    }
  }

  /** The rows of one ask for hosts and racks, as the policy is told them. */
  static AskText.Rows places(Map<String, ResourceRequest> rows) {
    AskText.Rows places = new AskText.Rows();
    for (ResourceRequest row : rows.values()) {
      String name = row.getResourceName();
      if (row.getNumContainers() <= 0 || name.equals(ResourceRequest.ANY)) {
        continue;
      }
      if (name.startsWith("/")) {
        places.rack(name, row.getNumContainers(), row.getRelaxLocality());
      } else {
        places.host(name, row.getNumContainers());
      }
    }
    return places;
  }
}
