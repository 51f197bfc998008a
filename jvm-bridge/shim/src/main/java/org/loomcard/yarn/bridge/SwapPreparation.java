package org.loomcard.yarn.bridge;

import java.io.IOException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.json.MessageException;
import org.loomcard.yarn.process.PolicyFailureException;
import org.loomcard.yarn.process.Supervisor;
import org.loomcard.yarn.process.Watchdog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Prepares swaps, one after the other, on a separate thread and with a separate policy process: it
 * reads the YAML, imports the policies and builds them. The process in charge is not called, so
 * nothing in a new configuration can stop it. What is prepared waits for the round thread, which
 * tries it.
 */
public final class SwapPreparation {
  private static final Logger LOG = LoggerFactory.getLogger(SwapPreparation.class);
  /** Added to the deadline of the compilation, so that its answer comes first. */
  private static final long ANSWER_MS = 2000;
  static final String STOPPING = "the ResourceManager is stopping";
  private final Supervisor supervisor;
  private final Watchdog watchdog;
  private final DryRun dryRun;
  private final Supplier<AppliedConfig> governing;
  private final Runnable onPrepared;
  private final LinkedBlockingQueue<ConfigSwap> requests = new LinkedBlockingQueue<>();
  private final AtomicReference<Prepared> prepared = new AtomicReference<>();
  private final Thread thread = new Thread(this::run, "loomcard-swaps");
  private volatile boolean stopped;

  /** A configuration that compiled, and the process that is to decide under it. */
  static final class Prepared {
    final ConfigSwap swap;
    final PolicyConfig policyConfig;
    final Supervisor.Started process;

    private Prepared(ConfigSwap swap, PolicyConfig policyConfig, Supervisor.Started process) {
      this.swap = swap;
      this.policyConfig = policyConfig;
      this.process = process;
    }
  }

  /**
   * @param governing the configuration in force, for answers
   * @param onPrepared called when there is something to {@link #take}
   */
  public SwapPreparation(Supervisor supervisor, Watchdog watchdog, DryRun dryRun,
      Supplier<AppliedConfig> governing, Runnable onPrepared) {
    this.supervisor = supervisor;
    this.watchdog = watchdog;
    this.dryRun = dryRun;
    this.governing = governing;
    this.onPrepared = onPrepared;
    thread.setDaemon(true);
  }

  public void start() {
    thread.start();
  }

  /** Answers the swaps that wait; nothing is changed any more. */
  public void stop() {
    stopped = true;
    thread.interrupt();
    for (ConfigSwap swap = requests.poll(); swap != null; swap = requests.poll()) {
      refuse(swap, STOPPING);
    }
  }

  /** Waits for the end of a swap. Do not call it on this object's thread or the round thread. */
  public ConfigSwapResult ask(ConfigSwap swap) {
    if (stopped) {
      refuse(swap, STOPPING);
    } else {
      requests.add(swap);
    }
    return swap.await(governing.get());
  }

  /** Returns a swap to be tried now, or null. The caller finishes it. */
  Prepared take() {
    return prepared.get() == null ? null : prepared.getAndSet(null);
  }

  private void run() {
    while (!stopped) {
      ConfigSwap swap = null;
      try {
        swap = requests.take();
        if (swap.isWanted() && prepare(swap)) {
          onPrepared.run();
          swap.awaitEnd();
        }
      } catch (InterruptedException e) {
        if (swap != null && swap.giveUp()) {
          refuse(swap, STOPPING);
        }
      } catch (Throwable e) { // the next one may work
        LOG.error("A swap could not be prepared", e);
        refuse(swap, "the new configuration could not be prepared: " + e);
      }
    }
  }

  private void refuse(ConfigSwap swap, String message) {
    swap.finish(ConfigSwapResult.plain(ConfigSwapResult.Outcome.UNAVAILABLE, message
        + "; nothing was changed", governing.get()));
  }

  /** Whether it may be tried; if not, it has been answered. */
  private boolean prepare(ConfigSwap swap) throws InterruptedException {
    Supervisor.Started process;
    try {
      swap.next("the start of a policy process for it", 0);
      process = supervisor.launch(swap.dryRun);
    } catch (IOException e) {
      refuse(swap, stopped ? STOPPING
          : "no policy process could be started, and only it reads YAML: " + e.getMessage());
      return false;
    }
    boolean handedOver = false;
    try {
      handedOver = swap.isWanted() && prepare(swap, process);
      return handedOver;
    } finally {
      if (!handedOver) {
        supervisor.endLater(process);
      }
    }
  }

  private boolean prepare(ConfigSwap swap, Supervisor.Started process) {
    ConfigSwapResult answer;
    try {
      swap.next("reading the policy file and importing its policies", ANSWER_MS);
      CompileReply compiled = CompileReply.read(watchdog.ask(process.policy(),
          CompileReply.request(swap.yaml, swap.name), swap.deadlineMs(),
          BridgeConfig.SWAP_DEADLINE_MS));
      if (compiled.policyConfig != null && !swap.dryRun) {
        swap.next("the round under way", 0);
        prepared.set(new Prepared(swap, compiled.policyConfig, process));
        return true;
      }
      answer = compiled.policyConfig != null ? tried(swap, compiled.policyConfig, process)
          : compiled.error == null ? ConfigSwapResult.findings(compiled.findings, governing.get())
          : failed("compiling the policy file: " + compiled.error);
    } catch (PolicyFailureException | MessageException e) {
      answer = failed("compiling the policy file: " + e.getMessage() + "; nothing was changed");
    }
    if (stopped) {
      refuse(swap, STOPPING); // the end of its process has nothing to do with it
    }
    swap.finish(answer);
    return false;
  }

  private ConfigSwapResult tried(ConfigSwap swap, PolicyConfig policyConfig,
      Supervisor.Started process) {
    AppliedConfig now = governing.get();
    swap.next("the first round, on an empty cluster,", 0);
    return dryRun.of(process.policy(), new AppliedConfig(
        policyConfig.withCreatedOf(now.policyConfig), now.version + 1, swap.yaml),
        now);
  }

  private ConfigSwapResult failed(String message) {
    return ConfigSwapResult.plain(ConfigSwapResult.Outcome.FAILED, message, governing.get());
  }
}
