package org.loomcard.yarn.process;

/** The policy process did not do its part: it is late, dead, or answers nonsense. */
public final class PolicyFailureException extends Exception {
  private static final long serialVersionUID = 1L;

  public PolicyFailureException(String message) {
    super(message);
  }

  public PolicyFailureException(String message, Throwable cause) {
    super(message, cause);
  }
}
