package org.loomcard.yarn.rounds;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * What policies report about queues, by queue path, as JSON. The last report of a queue is valid
 * until a plan brings another one, or another policy configuration is in force.
 */
final class Reports {
  private volatile Map<String, String> reported = Collections.emptyMap();

  /** Takes over the reports of a plan. */
  void update(Map<String, String> reports) {
    if (!reports.isEmpty()) {
      Map<String, String> next = new TreeMap<>(reported);
      next.putAll(reports);
      reported = Collections.unmodifiableMap(next);
    }
  }

  /**
   * Forgets all reports: another policy configuration is in force, and its policies have reported
   * nothing yet.
   */
  void clear() {
    reported = Collections.emptyMap();
  }

  /** Returns all valid reports. Any thread may call it. */
  Map<String, String> all() {
    return reported;
  }
}
