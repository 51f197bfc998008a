package org.loomcard.yarn.bridge;

import java.io.IOException;

/** What runs the rounds: the {@link Bridge} to the policy process, or a test's own driver. */
public interface RoundDriver {
  /**
   * Loads the policy configuration to start with and applies it. Call it once, before {@link
   * #start}.
   */
  void load() throws IOException;

  void start();

  /** Signals that something happened that the policy should see. Returns at once. */
  void signal();

  /** Like {@link #signal}, but an AM asked for something and waits for it. */
  default void signalDemand() {
    signal();
  }

  /** Reads the policy file again and applies it, for {@code user}. */
  ConfigSwapResult refresh(String user);

  /** Waits for decisions if the settings say so: YARN's own tests expect decisions inline. */
  default void awaitInline() {
  }

  void stop() throws InterruptedException;
}
