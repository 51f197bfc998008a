package org.loomcard.yarn.bridge;

import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Ends a policy that does not answer in time, so that the thread that waits for it goes on. */
final class Watchdog {
  private final ScheduledThreadPoolExecutor executor;

  Watchdog() {
    executor = new ScheduledThreadPoolExecutor(1, task -> {
      Thread thread = new Thread(task, "loomcard-watchdog");
      thread.setDaemon(true);
      return thread;
    });
    executor.setRemoveOnCancelPolicy(true);
  }

  /**
   * Sends a request and waits for the reply, at most so long.
   *
   * @throws PolicyFailureException when there is none; the policy has then been killed if it was
   *     late
   */
  String ask(RunningPolicy policy, String text, long deadlineMs) throws PolicyFailureException {
    Bite bite = new Bite(policy);
    ScheduledFuture<?> alarm = executor.schedule(bite, deadlineMs, TimeUnit.MILLISECONDS);
    try {
      return policy.client().decide(text);
    } catch (PolicyFailureException e) {
      if (bite.bitten) {
        throw new PolicyFailureException("no reply within " + deadlineMs
            + " ms; the policy process "
            + "was killed", e);
      }
      throw e;
    } finally {
      alarm.cancel(false);
    }
  }

  void stop() {
    executor.shutdownNow();
  }

  /** The killing of one policy. */
  private static final class Bite implements Runnable {
    private final RunningPolicy policy;
    private volatile boolean bitten;

    private Bite(RunningPolicy policy) {
      this.policy = policy;
    }

    @Override
    public void run() {
      bitten = true;
      policy.kill();
    }
  }
}
