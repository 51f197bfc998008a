package org.loomcard.yarn.bridge;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;
import org.loomcard.yarn.policyconfig.AppliedConfig;
import org.loomcard.yarn.policyconfig.BridgeConfig;
import org.loomcard.yarn.policyconfig.ConfigRefusedException;
import org.loomcard.yarn.policyconfig.LocalKeeper;
import org.loomcard.yarn.policyconfig.PolicyConfigStore;
import org.loomcard.yarn.policyconfig.StateFolder;
import org.loomcard.yarn.policyconfig.StateKeeper;
import org.loomcard.yarn.process.PolicyLauncher;
import org.loomcard.yarn.process.PolicyProcess;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.swap.ConfigSwap;
import org.loomcard.yarn.swap.ConfigSwapResult;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.Handshake;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The bridge as the scheduler uses it: {@link #load} the set-up, {@link #start}, {@link #signal}
 * what happened, {@link #swap} set-ups, {@link #stop}. None of its threads is ever waited for by
 * YARN's, but in {@link #swap} and {@link #refresh}, which admin calls use, with a deadline.
 */
public final class Bridge {
  private static final Logger LOG = LoggerFactory.getLogger(Bridge.class);
  private final BridgeConfig config;
  private final EngineClock clock;
  private final SchedulerState books;
  private final PolicyLauncher launcher;
  private final Handshake handshake;
  private final PolicyConfigStore store;
  /** Null until {@link #load}: an administrator may call before. */
  private volatile RoundLoop loop;

  /** @param launcher how policies are started; {@link #python} for the real ones */
  public Bridge(BridgeConfig config, EngineClock clock, SchedulerState books,
      PolicyLauncher launcher, Handshake handshake) {
    this(config, clock, books, launcher, handshake, new LocalKeeper(config.stateDir));
  }

  /** @param keeper where the applied configuration and the policies' saved parts are kept */
  public Bridge(BridgeConfig config, EngineClock clock, SchedulerState books,
      PolicyLauncher launcher, Handshake handshake, StateKeeper keeper) {
    this.config = config;
    this.clock = clock;
    this.books = books;
    this.launcher = launcher;
    this.handshake = handshake;
    this.store = new PolicyConfigStore(config, keeper);
  }

  /** Starts policy processes with the Python of the settings. */
  public static PolicyLauncher python(BridgeConfig config) {
    return new PolicyProcess.Launcher(config, "-P", "-m", "loomcard.bridge.process");
  }

  /**
   * Loads the set-up to start with and applies it to the books. Once, before {@link #start}; needs
   * no Python.
   *
   * @throws IOException when there is no set-up, or it cannot be read
   */
  public AppliedConfig load() throws IOException {
    StateFolder.prepare(config.stateDir);
    AppliedConfig first = store.load();
    try {
      books.apply(first.setup, first.version);
    } catch (ConfigRefusedException e) {
      throw new IOException(e.getMessage(), e);
    }
    LOG.info("Starting with {}", first);
    loop = new RoundLoop(config, clock, books, store, first, launcher, handshake);
    return first;
  }

  /** Starts the policy process and the rounds. */
  public void start() {
    loop.start();
  }

  /** Ends the rounds and the policy process. */
  public void stop() throws InterruptedException {
    if (loop != null) {
      loop.stop();
    }
    store.close();
  }

  /**
   * Something happened that the policy should see. From any thread; costs next to nothing. Before
   * {@link #load} it does nothing: the first round sees everything.
   */
  public void signal() {
    RoundLoop running = loop;
    if (running != null) {
      running.signal();
    }
  }

  /** As {@link #signal}, where an AM asked for something and waits for it. */
  public void signalDemand() {
    RoundLoop running = loop;
    if (running != null) {
      running.signalDemand();
    }
  }

  /**
   * Replaces the set-up by what {@code yaml} says; waits for it, at most so long.
   *
   * @param name the file's name, for messages
   */
  public ConfigSwapResult swap(String yaml, String name, long deadlineMs) {
    return swap(yaml, name, null, deadlineMs);
  }

  /**
   * As above.
   *
   * @param user who asks for it, for the history; null where that is not known
   */
  public ConfigSwapResult swap(String yaml, String name, String user, long deadlineMs) {
    ConfigSwapResult result = ask(new ConfigSwap(yaml, name, user, deadlineMs));
    if (!result.isApplied()) {
      LOG.warn("The set-up {} was not applied: {}", name, result);
    }
    return result;
  }

  /**
   * What {@link #swap} would come to: compiled in a process of its own, checked by the books, its
   * first round tried on an empty cluster. Nothing is changed or kept.
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

  /** What was applied and is still kept, newest first; the first one governs. */
  public List<AppliedConfig> history() {
    return store.history();
  }

  /** Swaps to what the configured policy file says now, for {@code user}; for refreshQueues. */
  public ConfigSwapResult refresh(String user) {
    File file = config.policyFile;
    if (file == null) {
      return ConfigSwapResult.plain(ConfigSwapResult.Outcome.FAILED, BridgeConfig.POLICY_FILE
          + " is not set, so there is no file to read; use 'loomcard policy apply'",
              applied());
    }
    try {
      String yaml = new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
      return swap(yaml, file.getName(), user, config.swapDeadlineMs);
    } catch (IOException e) {
      return ConfigSwapResult.plain(ConfigSwapResult.Outcome.FAILED, file + ": cannot be read: "
          + e, applied());
    }
  }

  /** The bridge now. */
  public BridgeStatus status() {
    return loop.status();
  }

  /**
   * For YARN's own tests, which expect decisions inline: waits until all that was signalled has
   * been decided.
   *
   * @return false: not within {@code ms}
   */
  public boolean awaitQuiet(long ms) throws InterruptedException {
    return loop.awaitQuiet(ms);
  }
}
