package org.loomcard.yarn.process;

import java.io.IOException;

/** A policy that has been started and can be ended. */
public interface RunningPolicy {

  /** How to talk to it. */
  PolicyClient client();

  /** Ends it at once, from any thread; a call in progress fails. Does nothing when it has ended. */
  void kill();

  /**
   * Ends one that has not failed: it may write what it still holds, such as the last lines of its
   * journal, for a few seconds at most. Waits for its end.
   */
  default void end() {
    kill();
  }

  /** How it ended by itself, null if it has not; waits a moment for one that is about to end. */
  default String howItEnded() {
    return null;
  }

  /** For logs: what it is. */
  String describe();

  /** Starts policies, one after the other. */
  interface Launcher {
    /**
     * Starts one and waits until it can be talked to.
     *
     * @param onEnd called once, from any thread, when it ends for whatever reason
     * @throws IOException when it does not get ready; nothing is left running then
     */
    RunningPolicy launch(Runnable onEnd) throws IOException, InterruptedException;
  }
}
