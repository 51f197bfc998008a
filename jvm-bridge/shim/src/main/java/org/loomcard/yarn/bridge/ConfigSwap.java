package org.loomcard.yarn.bridge;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.BridgeConfig;

/**
 * One request to replace the policy configuration, from the requester to the round thread and back.
 * Each of its steps has the whole deadline. So a slow start of the process on a busy machine does
 * not shorten the time for policies that take long to import.
 */
public final class ConfigSwap {
  /** How long the requester waits before it checks again whether the step's time has ended. */
  private static final long LOOK_MS = 250;
  private static final int WAITING = 0;
  private static final int APPLYING = 1;
  private static final int GIVEN_UP = 2;
  final String yaml;
  final String name;
  /** Who requests it; null when that is not known. */
  final String user;
  /** Whether it is only tried, and nothing is changed. */
  final boolean dryRun;
  private final long deadlineMs;
  private final LongSupplier nanos;
  private volatile Step step;
  private final AtomicInteger state = new AtomicInteger(WAITING);
  private final CompletableFuture<ConfigSwapResult> result = new CompletableFuture<>();

  public ConfigSwap(String yaml, String name, String user, long deadlineMs) {
    this(yaml, name, user, deadlineMs, false);
  }

  public ConfigSwap(String yaml, String name, String user, long deadlineMs, boolean dryRun) {
    this(yaml, name, user, deadlineMs, dryRun, System::nanoTime);
  }

  /** @param nanos the clock for the deadlines of the steps, in nanoseconds */
  public ConfigSwap(String yaml, String name, String user, long deadlineMs, boolean dryRun,
      LongSupplier nanos) {
    this.nanos = nanos;
    this.dryRun = dryRun;
    this.yaml = yaml;
    this.name = name;
    this.user = user;
    this.deadlineMs = deadlineMs;
    this.step = new Step("the swap before it", deadlineMs);
  }

  /** How long one step may take. */
  long deadlineMs() {
    return deadlineMs;
  }

  /**
   * Begins the next step; it may take the whole deadline.
   *
   * @param name what is done in it, for the answer
   * @param moreMs how much longer the requester waits, for an answer that says more than its own
   */
  void next(String name, long moreMs) {
    step = new Step(name, deadlineMs + moreMs);
  }

  /**
   * Called by the round thread before anything is changed; returns false when the requester no
   * longer waits.
   */
  boolean begin() {
    return state.compareAndSet(WAITING, APPLYING);
  }

  /**
   * Prevents that it begins; returns false when the round thread has taken it, and therefore will
   * finish it.
   */
  boolean giveUp() {
    return state.compareAndSet(WAITING, GIVEN_UP);
  }

  /** Whether a requester still waits for it. */
  boolean isWanted() {
    return state.get() != GIVEN_UP && !result.isDone();
  }

  /** Finishes it; only the first end counts. */
  void finish(ConfigSwapResult end) {
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

  /** Waits for the end. For a swap that has begun to change things it waits without a limit. */
  ConfigSwapResult await(AppliedConfig governing) {
    try {
      for (;;) {
        Step now = step;
        long leftMs = now.leftMs();
        try {
          return result.get(Math.max(1, Math.min(LOOK_MS, leftMs)), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
          if (now == step && leftMs <= 0) {
            return giveUp(now, governing);
          }
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      giveUp();
      return ConfigSwapResult.plain(ConfigSwapResult.Outcome.UNAVAILABLE, "interrupted", governing);
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  private ConfigSwapResult giveUp(Step late, AppliedConfig governing) {
    if (!giveUp()) {
      return result.join();
    }
    return ConfigSwapResult.plain(ConfigSwapResult.Outcome.UNAVAILABLE,
        "the new configuration was not ready in time: " + late.name + " took longer than "
        + deadlineMs + " ms; nothing was changed; try again, or raise "
        + BridgeConfig.SWAP_DEADLINE_MS, governing);
  }

  /** What is being done for it, and its deadline. */
  private final class Step {
    private final String name;
    private final long endNanos;

    private Step(String name, long lastsMs) {
      this.name = name;
      this.endNanos = nanos.getAsLong() + TimeUnit.MILLISECONDS.toNanos(lastsMs);
    }

    private long leftMs() {
      return TimeUnit.NANOSECONDS.toMillis(endNanos - nanos.getAsLong());
    }
  }
}
