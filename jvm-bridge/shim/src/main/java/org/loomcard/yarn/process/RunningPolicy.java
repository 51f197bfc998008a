package org.loomcard.yarn.process;

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

  /** For logs: what it is. */
  String describe();
}
