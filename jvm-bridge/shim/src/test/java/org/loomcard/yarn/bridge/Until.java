package org.loomcard.yarn.bridge;

import java.util.function.BooleanSupplier;

/** Waits for a condition, with a deadline; tests wait in no other way. */
public final class Until {
  private static final long DEADLINE_MS = 90_000;

  private Until() {
  }

  public static void waitUntil(String what, BooleanSupplier condition) throws InterruptedException {
    long end = System.nanoTime() + DEADLINE_MS * 1_000_000;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("not within " + DEADLINE_MS + " ms: " + what);
      }
      Thread.sleep(5);
    }
  }
}
