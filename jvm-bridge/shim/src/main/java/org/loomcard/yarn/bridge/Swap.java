package org.loomcard.yarn.bridge;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** One request to replace the set-up, from whoever asks to the round thread and back. */
final class Swap {
  private static final int WAITING = 0;
  private static final int APPLYING = 1;
  private static final int GIVEN_UP = 2;
  final String yaml;
  final String name;
  /** Who asks for it; null where that is not known. */
  final String user;
  private final long endNanos;
  private final AtomicInteger state = new AtomicInteger(WAITING);
  private final CompletableFuture<SwapResult> result = new CompletableFuture<>();

  Swap(String yaml, String name, String user, long deadlineMs) {
    this.yaml = yaml;
    this.name = name;
    this.user = user;
    this.endNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(deadlineMs);
  }

  /** Milliseconds left, at least 1. */
  long leftMs() {
    return Math.max(1, TimeUnit.NANOSECONDS.toMillis(endNanos - System.nanoTime()));
  }

  /** Asked by the round thread before anything is changed: false when nobody waits any more. */
  boolean begin() {
    return state.compareAndSet(WAITING, APPLYING);
  }

  /** Whether somebody still waits for it. */
  boolean isWanted() {
    return state.get() != GIVEN_UP && !result.isDone();
  }

  /** The first end counts. */
  void finish(SwapResult end) {
    result.complete(end);
  }

  /** Waits until it has been finished. */
  void awaitEnd() throws InterruptedException {
    try {
      result.get();
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  /**
   * Waits for the end; a swap that has begun to change things is waited for, however long it takes.
   */
  SwapResult await(AppliedSetup governing) {
    try {
      return result.get(leftMs(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      if (state.compareAndSet(WAITING, GIVEN_UP)) {
        return SwapResult.plain(SwapResult.Outcome.UNAVAILABLE,
            "the new configuration was not ready in time; nothing was changed, try again",
            governing);
      }
      return result.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      state.compareAndSet(WAITING, GIVEN_UP);
      return SwapResult.plain(SwapResult.Outcome.UNAVAILABLE, "interrupted", governing);
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }
}
