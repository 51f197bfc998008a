package org.loomcard.yarn.rounds;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.EngineClock;

/**
 * What policies report about queues, by queue path, as JSON. The last report of a queue is valid
 * until a plan brings another one, or another policy configuration is in force. Policies report
 * less often while nobody reads.
 */
final class Reports {
  /** So long after somebody read them, somebody may read them again: a scraper each minute. */
  private static final long READ_AGAIN_MS = 120_000;
  private final EngineClock clock;
  /** Whether the journal has them, so that they are read later. */
  private final boolean kept;
  private volatile Map<String, String> reported = Collections.emptyMap();
  /** Until when somebody may read them again. */
  private volatile long untilMs;
  /** What the policy process was told. */
  private volatile boolean toldRead = true;

  Reports(EngineClock clock, boolean kept) {
    this.clock = clock;
    this.kept = kept;
  }

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

  /** Returns all valid reports, for somebody who reads them. Any thread may call it. */
  Map<String, String> read() {
    untilMs = clock.nowMs() + READ_AGAIN_MS;
    return reported;
  }

  /** Whether somebody reads, and the policy process was told that nobody does. */
  boolean isReaderNew() {
    return !toldRead && isRead();
  }

  /** Writes whether somebody reads, if that is not what was told; a snapshot forgets that. */
  void write(BatchWriter out, boolean snapshot) {
    boolean read = isRead();
    if (read != (snapshot || toldRead)) {
      out.reportsRead(out.nowMs(), read);
    }
    toldRead = read;
  }

  private boolean isRead() {
    return kept || clock.nowMs() < untilMs;
  }
}
