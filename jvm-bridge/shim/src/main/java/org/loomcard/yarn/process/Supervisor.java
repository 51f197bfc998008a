package org.loomcard.yarn.process;

import java.io.IOException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.json.MessageException;
import org.loomcard.yarn.wire.Handshake;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts and ends policies, on a separate thread: the round thread waits for neither. Any problem
 * with a start, lack of memory or threads included, leads to another try. Writing has another
 * thread: a disk that hangs does not prevent the start of a policy.
 */
public final class Supervisor {
  private static final Logger LOG = LoggerFactory.getLogger(Supervisor.class);
  /** How long a failed process has to report what went wrong. */
  private static final long TRACEBACK_MS = 1000;

  /** A policy that has answered the handshake. */
  public static final class Started {
    private RunningPolicy policy;
    private volatile boolean ended;
    private String build;

    /** What the process runs: versions, and whether Loomcard's hot path is compiled. */
    public String build() {
      return build;
    }

    public RunningPolicy policy() {
      return policy;
    }

    /** Whether it has ended without our doing. */
    public boolean hasEnded() {
      return ended;
    }
  }

  private final BridgeConfig config;
  private final RunningPolicy.Launcher launcher;
  private final Handshake handshake;
  private final Watchdog watchdog;
  private final Breaker breaker;
  private final Runnable onChange;
  private final AtomicReference<Started> ready = new AtomicReference<>();
  /** Those that were launched and that we have not ended yet. */
  private final Set<RunningPolicy> live = ConcurrentHashMap.newKeySet();
  private final ScheduledThreadPoolExecutor executor =
      new ScheduledThreadPoolExecutor(1, task -> daemon(task, "loomcard-supervisor"));
  private final ExecutorService writes =
      Executors.newSingleThreadExecutor(task -> daemon(task, "loomcard-writes"));
  private ScheduledFuture<?> nextStart;
  private volatile String lastFailure = "";
  private volatile boolean stopped;

  /** @param onChange called when a policy is ready, or one has ended */
  public Supervisor(BridgeConfig config, RunningPolicy.Launcher launcher, Handshake handshake,
      Watchdog watchdog, Breaker breaker, Runnable onChange) {
    this.config = config;
    this.launcher = launcher;
    this.handshake = handshake;
    this.watchdog = watchdog;
    this.breaker = breaker;
    this.onChange = onChange;
    executor.prestartCoreThread(); // later there may be no thread left to start
  }

  private static Thread daemon(Runnable task, String name) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }

  /** Starts one after a wait; repeats failed starts, with the breaker's waits between them. */
  public synchronized void startAfter(long waitMs) {
    if (nextStart != null) {
      nextStart.cancel(false);
    }
    nextStart = run(this::start, waitMs);
  }

  /**
   * Writes something, one task after the other, off the round thread; {@link #stop} waits for
   * unfinished tasks. After {@link #stop}, or without memory for a thread, the task runs on the
   * caller's thread.
   */
  public void runLater(Runnable task) {
    try {
      writes.execute(() -> guarded(task));
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      task.run();
    }
  }

  private static void guarded(Runnable task) {
    try {
      task.run();
    } catch (Throwable e) { // a later task may work
      LOG.error("The supervisor of the policy process failed; it continues", e);
    }
  }

  /** Ends a policy that is not needed any more, but has not failed. */
  public void endLater(Started gone) {
    run(() -> {
      gone.policy.end();
      live.remove(gone.policy);
    }, 0);
  }

  /**
   * Ends a policy that has failed and starts another one after a wait.
   *
   * @param onTraceback receives what the policy says about its failure; empty if it says nothing
   */
  public void replace(Started gone, long waitMs, Consumer<String> onTraceback) {
    run(() -> {
      try {
        onTraceback.accept(gone.hasEnded() ? "" : traceback(gone.policy));
      } finally {
        startAfter(waitMs);
        end(gone.policy);
      }
    }, 0);
  }

  private ScheduledFuture<?> run(Runnable task, long waitMs) {
    try {
      return executor.schedule(() -> guarded(task), waitMs, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      LOG.debug("The bridge is stopping; not done: {}", task);
      return null;
    }
  }

  private void end(RunningPolicy policy) {
    policy.kill();
    live.remove(policy);
  }

  /** Reads it on a separate thread, since a process that failed may not answer. */
  private static String traceback(RunningPolicy policy) {
    CompletableFuture<String> answer = new CompletableFuture<>();
    try {
      Thread asking = new Thread(() -> {
        try {
          answer.complete(policy.client().lastFailure());
        } catch (Throwable e) { // then there is no traceback
          answer.complete("");
        }
      }, "loomcard-traceback");
      asking.setDaemon(true);
      asking.start();
      return answer.get(TRACEBACK_MS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "";
    } catch (Exception | OutOfMemoryError e) {
      return "";
    }
  }

  /** Returns the policy that became ready since the last call, or null. */
  public Started takeReady() {
    return ready.get() == null ? null : ready.getAndSet(null);
  }

  /** Returns why the last start failed; empty if none did. */
  public String lastFailure() {
    return lastFailure;
  }

  /** Ends every policy, and starts no more; waits for what is being written. */
  public void stop() {
    stopped = true;
    executor.shutdownNow();
    writes.shutdown();
    live.forEach(RunningPolicy::end);
    try {
      if (!executor.awaitTermination(10, TimeUnit.SECONDS)) {
        LOG.warn("The start of a policy process is still under way");
      }
      if (!writes.awaitTermination(2 * config.stateDeadlineMs, TimeUnit.MILLISECONDS)) {
        LOG.error("The applied configuration or the policies' saved parts are not written yet; "
            + "they may be lost");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    live.forEach(RunningPolicy::kill);
  }

  private void start() {
    try {
      ready.set(launch(false));
      onChange.run();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the bridge is stopping
    } catch (Throwable e) {
      retry(e instanceof IOException ? e.getMessage() : e.toString());
    }
  }

  /**
   * Starts one and makes the handshake, on the caller's thread.
   *
   * @param dryRun whether it is only to try something, and writes nothing
   * @throws IOException when this failed; nothing is left running then
   */
  public Started launch(boolean dryRun) throws IOException, InterruptedException {
    Started started = new Started();
    started.policy = launcher.launch(() -> {
      started.ended = true;
      onChange.run();
    });
    live.add(started.policy);
    try {
      if (stopped) {
        throw new IOException("the bridge is stopping");
      }
      String reply = watchdog.ask(started.policy, handshake.hello(dryRun), config.startDeadlineMs,
          BridgeConfig.START_DEADLINE_MS);
      started.build = Handshake.read(reply);
      LOG.info("Policy process {} is ready: {}", started.policy.describe(), started.build);
      return started;
    } catch (PolicyFailureException | MessageException e) {
      end(started.policy);
      throw new IOException(e.getMessage(), e);
    } catch (IOException | RuntimeException | Error e) {
      end(started.policy);
      throw e;
    }
  }

  private void retry(String reason) {
    lastFailure = String.valueOf(reason);
    if (!stopped) {
      long waitMs = breaker.nextBackoffMs();
      startAfter(waitMs);
      LOG.warn("The policy process did not start: {}. Next try in {} ms", reason, waitMs);
    }
  }
}
