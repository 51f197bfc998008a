package org.loomcard.yarn.process;

/** A policy that answers, wherever it runs: one text in, one text out. */
public interface PolicyClient {

  /**
   * Sends one request of docs/reference/wire.md and returns the reply.
   *
   * @throws PolicyFailureException when no reply comes; the policy can then not be used any more
   */
  String decide(String text) throws PolicyFailureException;

  /**
   * Returns the traceback of the last request that was answered with an error; empty if there was
   * none.
   */
  String lastFailure() throws PolicyFailureException;
}
