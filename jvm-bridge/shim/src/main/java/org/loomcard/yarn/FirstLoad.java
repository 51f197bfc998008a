package org.loomcard.yarn;

import java.io.IOException;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;

/**
 * Loads the configuration that governs, once, when this ResourceManager becomes active: not at
 * initialisation, when a standby would read what the active one replaces later.
 */
final class FirstLoad {
  private final Rounds rounds;
  private volatile boolean done;

  FirstLoad(Rounds rounds) {
    this.rounds = rounds;
  }

  synchronized void run() throws IOException {
    if (!done) {
      rounds.load();
      done = true;
    }
  }

  /** Recovered attempts are handed over before the start. */
  void beforeEvent() {
    if (!done) {
      try {
        run();
      } catch (IOException e) {
        throw new YarnRuntimeException(e.getMessage(), e);
      }
    }
  }
}
