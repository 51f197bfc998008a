package org.loomcard.yarn.bridge;

import java.io.IOException;
import org.loomcard.yarn.swap.ConfigSwapResult;

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

  /**
   * Waits until everything that was signalled has been decided. For YARN's own tests.
   *
   * @return false when that took longer than {@code ms}
   */
  boolean awaitDecisions(long ms) throws InterruptedException;

  void stop() throws InterruptedException;
}
