package org.loomcard.yarn.rounds;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * What policies tell about queues, by queue path, as JSON: the last that each plan told stands
 * until another one tells anew, or another set-up governs.
 */
final class Reports {
  private volatile Map<String, String> told = Collections.emptyMap();

  /** Takes over what a plan told. */
  void update(Map<String, String> reports) {
    if (!reports.isEmpty()) {
      Map<String, String> next = new TreeMap<>(told);
      next.putAll(reports);
      told = Collections.unmodifiableMap(next);
    }
  }

  /** Another set-up governs: its policies have told nothing yet. */
  void clear() {
    told = Collections.emptyMap();
  }

  /** Everything that stands, for any thread. */
  Map<String, String> all() {
    return told;
  }
}
