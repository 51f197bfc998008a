package org.loomcard.yarn.bridge;

/** A policy that has been started and can be ended. */
public interface RunningPolicy {

  /** How to talk to it. */
  PolicyClient client();

  /** Ends it at once, from any thread; a call in progress fails. Does nothing when it has ended. */
  void kill();

  /** For logs: what it is. */
  String describe();
}
