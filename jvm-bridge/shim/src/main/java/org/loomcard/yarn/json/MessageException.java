package org.loomcard.yarn.json;

/**
 * A message of the policy process, or a stored policy configuration, that does not follow
 * docs/reference/wire.md; the text names the place.
 */
public final class MessageException extends Exception {
  private static final long serialVersionUID = 1L;

  public MessageException(String message) {
    super(message);
  }
}
