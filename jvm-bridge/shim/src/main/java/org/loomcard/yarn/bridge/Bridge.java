package org.loomcard.yarn.bridge;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.ApplyToken;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.config.ConfigRefusedException;
import org.loomcard.yarn.config.LocalStateStore;
import org.loomcard.yarn.config.PolicyConfigStore;
import org.loomcard.yarn.config.StateFolder;
import org.loomcard.yarn.config.StateStore;
import org.loomcard.yarn.process.PolicyProcess;
import org.loomcard.yarn.process.RunningPolicy;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.Handshake;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The bridge as the scheduler uses it: {@link #load} the policy configuration, {@link #start},
 * {@link #signal} what happened, {@link #swap} policy configurations, {@link #stop}. YARN's threads
 * never wait for its threads, except in {@link #swap} and {@link #refresh}, which admin calls use,
 * with a deadline.
 */
public final class Bridge implements RoundDriver {
  private static final Logger LOG = LoggerFactory.getLogger(Bridge.class);
  private final BridgeConfig config;
  private final EngineClock clock;
  private final SchedulerState scheduler;
  private final RunningPolicy.Launcher launcher;
  private final Handshake handshake;
  private final PolicyConfigStore store;
  /** YARN's own tests expect decisions at a node's heartbeat and at no other time. */
  private final boolean onHeartbeatsOnly;
  /** Null until {@link #load}: an administrator may call earlier. */
  private volatile RoundLoop loop;

  /** @param launcher how policies are started; {@link #python} for the real ones */
  public Bridge(BridgeConfig config, EngineClock clock, SchedulerState scheduler,
      RunningPolicy.Launcher launcher, Handshake handshake) {
    this(config, clock, scheduler, launcher, handshake, new LocalStateStore(config.stateDir));
  }

  /** @param store where the applied configuration and the policies' saved parts are kept */
  public Bridge(BridgeConfig config, EngineClock clock, SchedulerState scheduler,
      RunningPolicy.Launcher launcher, Handshake handshake, StateStore store) {
    this.config = config;
    this.clock = clock;
    this.scheduler = scheduler;
    this.launcher = launcher;
    this.handshake = handshake;
    this.onHeartbeatsOnly = config.inlineWaitMs > 0;
    this.store = new PolicyConfigStore(config, store);
  }

  /** Returns a launcher of policy processes with the Python of the settings. */
  public static RunningPolicy.Launcher python(BridgeConfig config) {
    return new PolicyProcess.Launcher(config, "-P", "-m", "loomcard.bridge.process");
  }

  /**
   * Loads the policy configuration to start with and applies it to the scheduler's state. Call it
   * once, before {@link #start}; it needs no Python.
   *
   * @throws IOException when there is no policy configuration, or it cannot be read
   */
  @Override
  public void load() throws IOException {
    StateFolder.prepare(config.stateDir);
    ApplyToken token = new ApplyToken(config.stateDir);
    token.prepare();
    if (config.applyUnauthenticated) {
      LOG.warn("{} = true: whoever reaches the web address may change the policy. It goes with the "
          + "next version; give the command a copy of {} instead (loomcard policy apply "
          + "--token-file FILE)", BridgeConfig.APPLY_UNAUTHENTICATED, token.file());
    }
    AppliedConfig first = store.load();
    try {
      scheduler.apply(first.policyConfig, first.version);
    } catch (ConfigRefusedException e) {
      throw new IOException(e.getMessage(), e);
    }
    LOG.info("Starting with {}", first);
    loop = new RoundLoop(config, clock, scheduler, store, first, launcher, handshake);
  }

  /** Starts the policy process and the rounds. */
  @Override
  public void start() {
    loop.start();
  }

  /** Ends the rounds and the policy process. */
  @Override
  public void stop() throws InterruptedException {
    if (loop != null) {
      loop.stop();
    }
    store.close();
  }

  /**
   * Signals that something happened that the policy should see. Any thread may call it; it costs
   * very little. Before {@link #load} it does nothing: the first round sees everything.
   */
  @Override
  public void signal() {
    RoundLoop running = loop;
    if (running != null && !onHeartbeatsOnly) {
      running.signal();
    }
  }

  /** Like {@link #signal}, but an AM asked for something and waits for it. */
  @Override
  public void signalDemand() {
    RoundLoop running = loop;
    if (running != null && !onHeartbeatsOnly) {
      running.signalDemand();
    }
  }

  /**
   * Replaces the policy configuration by the one in {@code yaml}; waits for the end, at most {@code
   * deadlineMs}.
   *
   * @param name the file's name, for messages
   * @param user who requests it, for the history; null when that is not known
   */
  public ConfigSwapResult swap(String yaml, String name, String user, long deadlineMs) {
    ConfigSwapResult result = ask(new ConfigSwap(yaml, name, user, deadlineMs));
    if (!result.isApplied()) {
      LOG.warn("The policy configuration {} was not applied: {}", name, result);
    }
    return result;
  }

  /**
   * Returns the result that {@link #swap} would have. The configuration is compiled in a separate
   * process, checked by the scheduler's state, and its first round is tried on an empty cluster.
   * Nothing is changed or kept.
   */
  public ConfigSwapResult dryRun(String yaml, String name, long deadlineMs) {
    return ask(new ConfigSwap(yaml, name, null, deadlineMs, true));
  }

  /** Waits for the end of a swap. */
  ConfigSwapResult ask(ConfigSwap swap) {
    RoundLoop running = loop;
    return running != null ? running.swap(swap)
        : ConfigSwapResult.plain(ConfigSwapResult.Outcome.UNAVAILABLE,
        "the ResourceManager is not active yet, or still starting; nothing was changed; try again",
        null);
  }

  private AppliedConfig applied() {
    RoundLoop running = loop;
    return running == null ? null : running.applied();
  }

  /** The applied configurations that are still kept, newest first; the first one is in force. */
  public List<AppliedConfig> history() {
    return store.history();
  }

  /**
   * Swaps to the present text of the configured policy file, for {@code user}; for refreshQueues.
   */
  @Override
  public ConfigSwapResult refresh(String user) {
    File file = config.policyFile;
    if (file == null) {
      return ConfigSwapResult.plain(ConfigSwapResult.Outcome.FAILED, BridgeConfig.POLICY_FILE
          + " is not set, so there is no file to read; use 'loomcard policy apply'", applied());
    }
    try {
      String yaml = new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
      return swap(yaml, file.getName(), user, config.swapDeadlineMs);
    } catch (IOException e) {
      return ConfigSwapResult.plain(ConfigSwapResult.Outcome.FAILED, file + ": cannot be read: "
          + e, applied());
    }
  }

  /**
   * Returns the policy process's explanation why an application or a queue waits, as JSON; null
   * when no policy process gives one within {@code withinMs}.
   *
   * @param kind {@code application}, {@code queue} or {@code asks}
   * @param name its id or path
   */
  public String explain(String kind, String name, long withinMs) {
    RoundLoop running = loop;
    try {
      return running == null ? null : running.explain(kind, name, withinMs);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
  }

  /** The present status of the bridge; null before {@link #load}. */
  public BridgeStatus status() {
    RoundLoop running = loop;
    return running == null ? null : running.status();
  }

  @Override
  public void awaitInline() {
    if (onHeartbeatsOnly) {
      try {
        awaitDecisions(config.inlineWaitMs);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Waits until all that was signalled has been decided; for tests.
   *
   * @return false when that took longer than {@code ms}
   */
  public boolean awaitDecisions(long ms) throws InterruptedException {
    return loop.awaitDecisions(ms);
  }
}
