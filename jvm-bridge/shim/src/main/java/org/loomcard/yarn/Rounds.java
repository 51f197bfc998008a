package org.loomcard.yarn;

import java.io.IOException;

/** What runs the rounds: the bridge to the policy process, or, in tests, something simpler. */
interface Rounds {
  void start() throws IOException;

  /** Something happened that the policy should see; returns at once. */
  void signal();

  /** Reads the policy file again and applies it; an exception that says why it was not. */
  void refresh() throws IOException;

  void stop();
}
