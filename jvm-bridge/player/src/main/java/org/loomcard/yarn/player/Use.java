package org.loomcard.yarn.player;

import org.apache.hadoop.yarn.api.records.Container;

/** An allocated container that runs; if it has no length, its end is ordered while it runs. */
final class Use {
  private static final long NOT_YET = -1;

  final Container container;
  /** Whether the player decides when it ends; otherwise its length is known. */
  final boolean held;
  private long startedMs = NOT_YET;
  private long ranMs = NOT_YET;
  private long earliestMs;

  Use(Container container, boolean held) {
    this.container = container;
    this.held = held;
  }

  synchronized void started(long atMs) {
    startedMs = atMs;
  }

  synchronized void ends(long ranMs, long earliestMs) {
    this.ranMs = ranMs;
    this.earliestMs = earliestMs;
  }

  /** When it ends, in ms since 1970, or null while that is unknown. */
  synchronized Long endsMs() {
    boolean known = startedMs != NOT_YET && ranMs != NOT_YET;
    return known ? Math.max(startedMs + ranMs, earliestMs) : null;
  }
}
