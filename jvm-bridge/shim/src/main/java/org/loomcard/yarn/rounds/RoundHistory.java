package org.loomcard.yarn.rounds;

import java.util.ArrayList;
import java.util.List;

/**
 * What has been said in the rounds since a state that a replay can begin with: the last snapshot,
 * or the process's own account of its state. It keeps the texts that were sent anyway. Written by
 * the round thread, read by any.
 */
public final class RoundHistory {
  /** Beyond the first line; then it begins anew from the process's account. */
  private static final long MOST_CHARS = 16L << 20;
  private final List<String> lines = new ArrayList<>();
  private long chars;
  private long most;

  RoundHistory() {
  }

  /**
   * Forgets all; what follows can be replayed from {@code header}.
   *
   * @param header the first line of a journal's segment; null: nothing is kept until the next call
   */
  synchronized void begin(String header) {
    lines.clear();
    chars = 0;
    if (header != null) {
      most = MOST_CHARS + 4L * header.length();
      add(header);
    }
  }

  /** A batch is sent, or its plan has come. */
  synchronized void add(String text) {
    if (lines.isEmpty() && !text.startsWith("[\"segment\"")) {
      return;
    }
    lines.add(text);
    chars += text.length();
  }

  /** Whether it is time to begin anew. */
  synchronized boolean isFull() {
    return chars > most;
  }

  /** The lines of a segment; the plan of the last batch is missing where none came. */
  public synchronized List<String> lines() {
    return new ArrayList<>(lines);
  }
}
