package org.loomcard.yarn.process;

import java.io.IOException;

/** A policy that has been started and can be ended. */
public interface RunningPolicy {

  /** Returns the client that calls it. */
  PolicyClient client();

  /**
   * Ends it at once; a call in progress fails. Does nothing when it has ended. Any thread may call
   * it.
   */
  void kill();

  /**
   * Ends one that has not failed, and waits for its end. For a few seconds at most it may write
   * what it still has, such as the last lines of its journal.
   */
  default void end() {
    kill();
  }

  /**
   * Returns how it ended without our doing, or null if it has not; waits a moment for one that is
   * about to end.
   */
  default String howItEnded() {
    return null;
  }

  /** Returns what it is, for logs. */
  String describe();

  /** Starts policies, one after the other. */
  interface Launcher {
    /**
     * Starts one and waits until it can be called.
     *
     * @param onEnd called once, from any thread, when it ends for any reason
     * @throws IOException when it does not get ready; nothing is left running then
     */
    RunningPolicy launch(Runnable onEnd) throws IOException, InterruptedException;
  }
}
