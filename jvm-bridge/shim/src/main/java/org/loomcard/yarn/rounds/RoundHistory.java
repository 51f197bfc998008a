package org.loomcard.yarn.rounds;

import java.util.ArrayList;
import java.util.List;

/**
 * The messages of the rounds since a state from which a replay can begin: the last snapshot, or the
 * process's own account of its state. It keeps the texts that were sent anyway. Written by the
 * round thread, read by any.
 */
public final class RoundHistory {
  /** The most characters after the first line; then it begins again from the process's account. */
  private static final long MOST_CHARS = 16L << 20;
  private final List<String> lines = new ArrayList<>();
  private long chars;
  private long most;

  RoundHistory() {
  }

  /**
   * Forgets all messages; what follows can be replayed from {@code header}.
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

  /** Adds a batch that is sent, or its plan that has come. */
  synchronized void add(String text) {
    if (lines.isEmpty() && !text.startsWith("[\"segment\"")) {
      return;
    }
    lines.add(text);
    chars += text.length();
  }

  /** Whether it is time to begin again. */
  synchronized boolean isFull() {
    return chars > most;
  }

  /** Returns the lines of a segment; the plan of the last batch is missing if it has not come. */
  public synchronized List<String> lines() {
    return new ArrayList<>(lines);
  }
}
