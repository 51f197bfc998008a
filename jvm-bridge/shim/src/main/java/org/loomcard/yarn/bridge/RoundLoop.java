package org.loomcard.yarn.bridge;

import java.io.IOException;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The round thread. It alone touches the books for the policy: rounds while the policy answers, the
 * fallback while it does not, swaps between rounds.
 */
final class RoundLoop implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(RoundLoop.class);
  private static final long IDLE_MS = 1000;
  private static final long FALLBACK_MS = 1000;
  private final BridgeConfig config;
  private final EngineClock clock;
  private final Books books;
  private final SetupStore store;
  private final Watchdog watchdog = new Watchdog();
  private final BridgeCounters counters = new BridgeCounters();
  private final Breaker breaker;
  private final Pace pace;
  private final Supervisor supervisor;
  private final PolicyRounds rounds;
  private final Queue<Swap> swaps = new ConcurrentLinkedQueue<>();
  private final Thread thread = new Thread(this, "loomcard-rounds");
  private final Quiet quiet = new Quiet();
  private volatile Supervisor.Started current;
  private long graceEndMs;
  private volatile AppliedSetup applied;
  private volatile BridgeStatus.State state = BridgeStatus.State.STARTING;
  private volatile long sinceMs;
  private volatile String lastFailure = "";
  private volatile String process = "starting";

  RoundLoop(BridgeConfig config, EngineClock clock, Books books, SetupStore store,
      AppliedSetup applied, PolicyLauncher launcher, Handshake handshake) {
    this.config = config;
    this.clock = clock;
    this.books = books;
    this.store = store;
    this.applied = applied;
    this.breaker = new Breaker(config);
    this.pace = new Pace(config.roundHoldMs);
    this.supervisor = new Supervisor(config, launcher, handshake, watchdog, breaker, pace::signal);
    this.rounds = new PolicyRounds(config, clock, books, watchdog, counters);
    thread.setDaemon(true);
  }

  void start() {
    sinceMs = clock.nowMs();
    graceEndMs = sinceMs + config.startGraceMs;
    rounds.saved().putAll(store.loadSaved());
    supervisor.startAfter(0);
    thread.start();
  }

  void stop() throws InterruptedException {
    state = BridgeStatus.State.STOPPED;
    pace.signal();
    supervisor.stop();
    Supervisor.Started last = current;
    if (last != null) {
      last.policy().kill();
    }
    thread.join(TimeUnit.SECONDS.toMillis(10));
    watchdog.stop();
  }

  /** Something happened that the policy should see. From any thread; costs an increment. */
  void signal() {
    pace.signal();
  }

  AppliedSetup applied() {
    return applied;
  }

  BridgeStatus status() {
    String failure = lastFailure.isEmpty() ? supervisor.lastFailure() : lastFailure;
    return new BridgeStatus(state, sinceMs, applied, counters, failure, process, rounds.reports(),
        rounds.waits());
  }

  SwapResult swap(Swap swap) {
    swaps.add(swap);
    pace.signal();
    return swap.await(applied);
  }

  /** Waits until all that happened before this call has been dealt with; false: not in time. */
  boolean awaitQuiet(long ms) throws InterruptedException {
    return quiet.await(ms, pace::signal);
  }

  @Override
  public void run() {
    while (state != BridgeStatus.State.STOPPED) {
      long ticket = quiet.ticket();
      pace.take();
      try {
        step();
      } catch (RuntimeException | Error e) {
        LOG.error("A round failed in the books; the policy gets a snapshot", e);
        rounds.snapshotNext("the books failed: " + e);
        if (breaker.bad() && current != null) {
          fail("the books failed: " + e);
        }
      }
      if (state != BridgeStatus.State.STARTING && !(current != null && rounds.isWanted())) {
        quiet.reached(ticket);
      }
      pace.await(waitMs());
    }
  }

  private long waitMs() {
    switch (state) {
      case UP: return rounds.isWanted() ? 0 : rounds.toNextWakeUpMs(IDLE_MS);
      case STARTING: return Math.max(0, graceEndMs - clock.nowMs());
      default: return books.isFallbackUnfinished() ? 0 : FALLBACK_MS;
    }
  }

  private void step() {
    if (current != null && current.hasEnded()) {
      fail("the policy process ended by itself");
    }
    Supervisor.Started fresh = supervisor.takeReady();
    if (fresh != null) {
      close(fresh);
    }
    // While the first process is starting, a swap waits for it.
    while (state != BridgeStatus.State.STARTING && !swaps.isEmpty()) {
      finish(swaps.remove());
    }
    if (current == null) {
      serveWithout();
    } else if (rounds.isWanted()) {
      if (rounds.mayHold() && config.inlineWaitMs == 0) {
        pace.hold(rounds.lastRecords());
      }
      round();
    }
  }

  /** The breaker closes: a policy process is there again. */
  private void close(Supervisor.Started fresh) {
    counters.starts++;
    rounds.snapshotNext(counters.starts == 1 ? "start" : "the policy process was started again");
    if (state == BridgeStatus.State.FALLBACK) {
      LOG.warn("The policy process is back; the fallback granted {} containers until now",
          counters.grantedByFallback);
    }
    current = fresh;
    process = fresh.policy().describe();
    turn(BridgeStatus.State.UP);
  }

  private void round() {
    try {
      boolean good = rounds.run(current.policy(), applied);
      if (good) {
        breaker.good();
      } else if (breaker.bad()) {
        fail(config.breakerFailures
            + " bad rounds in a row; the log lines before say what was bad");
      }
      keepSaved();
    } catch (PolicyFailureException e) {
      fail(e.getMessage());
    }
  }

  private void keepSaved() {
    if (rounds.takeSavedChanged()) {
      TreeMap<String, String> copy = new TreeMap<>(rounds.saved());
      supervisor.runLater(() -> store.keepSaved(copy));
    }
  }

  /** The breaker opens: the process is ended and started again later; the fallback serves. */
  private void fail(String reason) {
    String trace = current.hasEnded() ? "" : traceback(current.policy());
    current.policy().kill();
    if (state == BridgeStatus.State.STOPPED) {
      return;
    }
    current = null;
    lastFailure = trace.isEmpty() ? reason : reason + "\n" + trace;
    counters.failures++; // whoever sees it counted can read what it was
    process = "none; being started again";
    long waitMs = breaker.nextBackoffMs();
    turn(BridgeStatus.State.FALLBACK);
    LOG.warn("The FIFO in Java schedules now, since the policy failed: {}. The policy process is "
        + "started again in {} ms", lastFailure, waitMs);
    supervisor.startAfter(waitMs);
  }

  private static String traceback(RunningPolicy policy) {
    try {
      return policy.client().lastFailure();
    } catch (PolicyFailureException e) {
      return "";
    }
  }

  private void serveWithout() {
    if (state == BridgeStatus.State.STARTING) {
      if (clock.nowMs() < graceEndMs) {
        return;
      }
      LOG.warn("The FIFO in Java schedules now: no policy process was ready within {} ms. {}",
          config.startGraceMs, supervisor.lastFailure());
      turn(BridgeStatus.State.FALLBACK);
    }
    // First forget, then serve: news that comes meanwhile asks for another round.
    books.clearNews();
    counters.grantedByFallback += books.fallbackRound();
  }

  private void turn(BridgeStatus.State next) {
    if (state != BridgeStatus.State.STOPPED) {
      state = next;
      sinceMs = clock.nowMs();
    }
  }

  private void finish(Swap swap) {
    try {
      swap.finish(swapNow(swap));
    } catch (RuntimeException e) {
      swap.finish(SwapResult.plain(SwapResult.Outcome.FAILED, "the books failed: " + e, applied));
      throw e;
    }
  }

  private SwapResult swapNow(Swap swap) {
    if (current == null) {
      return SwapResult.plain(SwapResult.Outcome.UNAVAILABLE, "the policy process is down, and "
          + "only it reads YAML; the present set-up stays. Last failure: " + lastFailure, applied);
    }
    CompileReply compiled;
    try {
      compiled = CompileReply.read(watchdog.ask(current.policy(),
          CompileReply.request(swap.yaml, swap.name),
          Math.max(swap.leftMs(), config.roundHardDeadlineMs)));
    } catch (PolicyFailureException | MessageException e) {
      fail("compiling a set-up: " + e.getMessage());
      return SwapResult.plain(SwapResult.Outcome.UNAVAILABLE, "the policy process failed while it "
          + "compiled the set-up: " + e.getMessage(), applied);
    }
    if (compiled.error != null) {
      return SwapResult.plain(SwapResult.Outcome.FAILED, compiled.error, applied);
    }
    return compiled.setup == null ? SwapResult.findings(compiled.findings, applied)
        : apply(swap, compiled.setup);
  }

  private SwapResult apply(Swap swap, Setup setup) {
    AppliedSetup old = applied;
    AppliedSetup next = new AppliedSetup(setup, old.version + 1, swap.yaml, swap.user,
        System.currentTimeMillis());
    if (!swap.begin()) {
      return SwapResult.plain(SwapResult.Outcome.UNAVAILABLE, "too late; nothing was changed", old);
    }
    try {
      books.apply(setup, next.version);
      keep(next, old);
    } catch (SetupRefusedException e) {
      return SwapResult.refused(e, old);
    } catch (IOException e) {
      return SwapResult.plain(SwapResult.Outcome.FAILED, "cannot keep the set-up: " + e, old);
    }
    applied = next;
    counters.swaps++;
    rounds.forgetOutside(setup);
    rounds.snapshotNext("swap to version " + next.version);
    LOG.info("Applied {} in place of {}", next, old);
    round();
    return SwapResult.applied(next);
  }

  private void keep(AppliedSetup next, AppliedSetup old) throws IOException, SetupRefusedException {
    try {
      store.apply(next);
    } catch (IOException e) {
      LOG.error("Cannot keep {}; going back to {}", next, old, e);
      books.apply(old.setup, old.version);
      throw e;
    }
  }
}
