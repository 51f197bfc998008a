package org.loomcard.yarn.rounds;

import java.util.function.Consumer;

/** An ask that could have been served for a whole deadline, and got no container. Immutable. */
public final class StalledAsk {
  /** The path of its leaf queue. */
  public final String queue;
  /** The application's id as YARN writes it, {@code application_..._0001}. */
  public final String application;
  public final int priority;
  public final long allocationRequestId;
  /** The size of one container, as YARN writes it. */
  public final String size;
  /** A node on which it would have fitted all the time. */
  public final String node;
  public final long waitedMs;
  /** The policy's last reason for it; null: none. */
  public final String reason;
  private final Consumer<String> diagnose;

  /**
   * Sets all fields.
   *
   * @param diagnose shows a text to the application's user
   */
  public StalledAsk(String queue, String application, int priority, long allocationRequestId,
      String size, String node, long waitedMs, String reason, Consumer<String> diagnose) {
    this.queue = queue;
    this.application = application;
    this.priority = priority;
    this.allocationRequestId = allocationRequestId;
    this.size = size;
    this.node = node;
    this.waitedMs = waitedMs;
    this.reason = reason;
    this.diagnose = diagnose;
  }

  /** Shows a text to the application's user. */
  public void diagnose(String text) {
    diagnose.accept(text);
  }

  @Override
  public String toString() {
    return application + " has waited " + waitedMs + " ms for a container of " + size
        + " (priority " + priority + "), which fits on " + node + " and within all limits; the"
        + " policy's reason: " + (reason == null ? "none given" : reason);
  }
}
