package org.loomcard.yarn.process;

/** The policy process failed: it is late, dead, or its answer is invalid. */
public final class PolicyFailureException extends Exception {
  private static final long serialVersionUID = 1L;

  public PolicyFailureException(String message) {
    super(message);
  }

  public PolicyFailureException(String message, Throwable cause) {
    super(message, cause);
  }
}
