package org.loomcard.yarn.bridge;

import java.io.IOException;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Starts policies, on a thread of its own, until one has answered the handshake. */
final class Supervisor {
  private static final Logger LOG = LoggerFactory.getLogger(Supervisor.class);

  /** A policy that has answered the handshake. */
  static final class Started {
    private RunningPolicy policy;
    private volatile boolean ended;

    RunningPolicy policy() {
      return policy;
    }

    /** Whether it has ended by itself. */
    boolean hasEnded() {
      return ended;
    }
  }

  private final BridgeConfig config;
  private final PolicyLauncher launcher;
  private final Handshake handshake;
  private final Watchdog watchdog;
  private final Breaker breaker;
  private final Runnable onNews;
  private final AtomicReference<Started> ready = new AtomicReference<>();
  private final ScheduledExecutorService executor = Executors.newSingleThreadScheduledExecutor(
      task -> {
        Thread thread = new Thread(task, "loomcard-supervisor");
        thread.setDaemon(true);
        return thread;
      });
  private volatile String lastFailure = "";
  private volatile RunningPolicy starting;
  private volatile boolean stopped;

  /** @param onNews called when a policy is ready, or one has ended */
  Supervisor(BridgeConfig config, PolicyLauncher launcher, Handshake handshake, Watchdog watchdog,
      Breaker breaker, Runnable onNews) {
    this.config = config;
    this.launcher = launcher;
    this.handshake = handshake;
    this.watchdog = watchdog;
    this.breaker = breaker;
    this.onNews = onNews;
  }

  /** Tries to start one after a wait, again and again with the breaker's waits between. */
  void startAfter(long waitMs) {
    run(this::start, waitMs);
  }

  /** Does something slow, such as writing a file, off the round thread. */
  void runLater(Runnable task) {
    run(task, 0);
  }

  private void run(Runnable task, long waitMs) {
    try {
      executor.schedule(task, waitMs, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      LOG.debug("The bridge is stopping; not done: {}", task);
    }
  }

  /** The policy that became ready since the last call, or null. */
  Started takeReady() {
    return ready.getAndSet(null);
  }

  /** Why the last start failed; empty if none did. */
  String lastFailure() {
    return lastFailure;
  }

  void stop() {
    stopped = true;
    executor.shutdownNow();
    RunningPolicy greeted = starting;
    if (greeted != null) {
      greeted.kill();
    }
    try {
      if (!executor.awaitTermination(10, TimeUnit.SECONDS)) {
        LOG.warn("The start of a policy process is still under way");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Started unused = takeReady();
    if (unused != null) {
      unused.policy.kill();
    }
  }

  private void start() {
    Started started = new Started();
    try {
      started.policy = launcher.launch(() -> {
        started.ended = true;
        onNews.run();
      });
      starting = started.policy;
      greet(started.policy);
      starting = null;
    } catch (IOException | RuntimeException e) {
      retry(e.getMessage());
      return;
    } catch (InterruptedException e) {
      return;
    }
    ready.set(started);
    onNews.run();
  }

  private void greet(RunningPolicy policy) throws IOException {
    try {
      String reply = watchdog.ask(policy, handshake.hello(), config.startDeadlineMs);
      LOG.info("Policy process {} is ready: {}", policy.describe(), Handshake.read(reply));
    } catch (PolicyFailureException | MessageException e) {
      policy.kill();
      throw new IOException(e.getMessage(), e);
    }
  }

  private void retry(String reason) {
    lastFailure = String.valueOf(reason);
    if (!stopped) {
      long waitMs = breaker.nextBackoffMs();
      LOG.warn("The policy process did not start: {}. Next try in {} ms", reason, waitMs);
      startAfter(waitMs);
    }
  }
}
