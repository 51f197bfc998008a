package org.loomcard.yarn;

import java.io.IOException;

/** What runs the rounds: the bridge to the policy process, or, in tests, something simpler. */
interface Rounds {
  /** Loads the set-up to start with and applies it to the books. */
  void load() throws IOException;

  void start();

  /** Something happened that the policy should see; returns at once. */
  void signal();

  /** As {@link #signal}, where an AM asked for something and waits for it. */
  default void signalDemand() {
    signal();
  }

  /** Reads the policy file again and applies it; an exception that says why it was not applied. */
  void refresh() throws IOException;

  /** Waits until what was signalled has been decided, at most so long; for YARN's own tests. */
  void awaitQuiet(long ms) throws InterruptedException;

  void stop() throws InterruptedException;
}
