package org.loomcard.yarn.bridge;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The round thread. It alone touches the books for the policy: rounds while the policy answers, the
 * fallback while there is none, the trial of a new configuration between rounds. While it waits for
 * something else for too long, {@link Standby} has the books.
 */
final class RoundLoop implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(RoundLoop.class);
  private static final long IDLE_MS = 1000;
  private static final long FALLBACK_MS = 200;
  private final BridgeConfig config;
  private final EngineClock clock;
  private final Books books;
  private final SetupStore store;
  private final Watchdog watchdog = new Watchdog();
  private final BridgeCounters counters = new BridgeCounters();
  private final Breaker breaker;
  private final Pace pace;
  private final Standby standby;
  private final Supervisor supervisor;
  private final SwapDesk swaps;
  private final PolicyRounds rounds;
  private final SwapTrial trial;
  private final Thread thread = new Thread(this, "loomcard-rounds");
  private final Quiet quiet = new Quiet();
  private volatile Supervisor.Started current;
  private boolean served;
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
    this.standby = new Standby(books, counters, this::overdue);
    this.supervisor = new Supervisor(config, launcher, handshake, watchdog, breaker, pace::signal);
    this.swaps = new SwapDesk(supervisor, watchdog, new DryRun(config, books, watchdog,
        handshake.resourceTypes()), this::applied, pace::signal);
    this.rounds = new PolicyRounds(config, clock, books, watchdog, standby, counters);
    this.trial = new SwapTrial(config, books, store, rounds, standby);
    thread.setDaemon(true);
  }

  void start() {
    sinceMs = clock.nowMs();
    graceEndMs = sinceMs + config.startGraceMs;
    rounds.saved().putAll(store.loadSaved());
    supervisor.startAfter(0);
    standby.start();
    swaps.start();
    thread.start();
  }

  void stop() throws InterruptedException {
    turn(BridgeStatus.State.STOPPED);
    pace.signal();
    swaps.stop();
    supervisor.stop();
    thread.join(TimeUnit.SECONDS.toMillis(10));
    standby.stop();
    watchdog.stop();
  }

  /** Something happened that the policy should see. From any thread; costs an increment. */
  void signal() {
    pace.signal();
  }

  /** An AM asked for something. From any thread. */
  void signalDemand() {
    pace.signalDemand();
  }

  AppliedSetup applied() {
    return applied;
  }

  BridgeStatus status() {
    String failure = lastFailure.isEmpty() ? supervisor.lastFailure() : lastFailure;
    return new BridgeStatus(state, sinceMs, applied, counters, failure, process, rounds.reports(),
        rounds.waits(), rounds.faults());
  }

  SwapResult swap(Swap swap) {
    return swaps.ask(swap);
  }

  /** Waits until all that happened before this call has been dealt with; false: not in time. */
  boolean awaitQuiet(long ms) throws InterruptedException {
    return quiet.await(ms, pace::signal);
  }

  @Override
  public void run() {
    while (state != BridgeStatus.State.STOPPED) {
      try {
        turnOnce();
      } catch (Throwable e) { // without this thread nobody schedules: whatever it is, go on
        LOG.error("The round thread failed; it goes on", e);
      }
    }
  }

  private void turnOnce() {
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

  /** YARN's own tests want decisions at a node's heartbeat and at no other time. */
  private boolean mayAct() {
    return config.inlineWaitMs == 0 || quiet.isAsked();
  }

  private long waitMs() {
    if (current != null) {
      return mayAct() && rounds.isWanted() ? 0
          : mayAct() ? rounds.toNextWakeUpMs(IDLE_MS) : IDLE_MS;
    }
    return state == BridgeStatus.State.STARTING ? Math.max(0, graceEndMs - clock.nowMs())
        : served && !books.isFallbackUnfinished() ? FALLBACK_MS : 0;
  }

  private void step() {
    if (current != null && current.hasEnded()) {
      fail("the policy process ended by itself");
    }
    Supervisor.Started fresh = supervisor.takeReady();
    if (fresh != null && current == null) {
      close(fresh);
    } else if (fresh != null) {
      supervisor.endLater(fresh);
    }
    SwapDesk.Prepared next = swaps.take();
    if (next != null) {
      tryOut(next);
    }
    if (current == null) {
      serveWithout();
    } else if (mayAct() && rounds.isWanted()) {
      if (rounds.mayHold() && config.inlineWaitMs == 0) {
        pace.hold(rounds.lastRecords(), books::hasDemand);
      }
      round();
    }
  }

  /** The breaker closes: a policy process is there again. */
  private void close(Supervisor.Started fresh) {
    counters.starts++;
    rounds.forgetFaults();
    rounds.snapshotNext(counters.starts == 1 ? "start" : "the policy process was started again");
    if (state == BridgeStatus.State.FALLBACK) {
      LOG.warn("The policy process is back; the fallback granted {} containers until now",
          counters.grantedByFallback());
    }
    current = fresh;
    process = fresh.policy().describe();
    turn(BridgeStatus.State.UP);
  }

  private void round() {
    try {
      RoundEnd end = rounds.run(current.policy(), applied);
      back();
      if (end.bad == null) { // a fault is one queue's affair
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

  /** The breaker opens: the fallback serves; the process is ended and started again later. */
  private void fail(String reason) {
    Supervisor.Started gone = current;
    current = null;
    if (state == BridgeStatus.State.STOPPED) {
      return;
    }
    lastFailure = reason;
    process = "none; being started again";
    served = false;
    long waitMs = breaker.nextBackoffMs();
    turn(BridgeStatus.State.FALLBACK);
    LOG.warn("The FIFO in Java schedules now, since the policy failed: {}. The policy process is "
        + "started again in {} ms", reason, waitMs);
    supervisor.replace(gone, waitMs, traceback -> {
      if (!traceback.isEmpty()) {
        lastFailure = reason + "\n" + traceback;
        LOG.warn("The policy process says of its failure:\n{}", traceback);
      }
      counters.failures++; // whoever sees it counted can read what it was
    });
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
    counters.countFallback(books.fallbackRound());
    if (served && !books.isFallbackUnfinished()) {
      pace.rest(Standby.PAUSE_MS); // others want YARN's lock too
    }
    served = true;
  }

  private synchronized void turn(BridgeStatus.State next) {
    if (state != BridgeStatus.State.STOPPED) {
      state = next;
      sinceMs = clock.nowMs();
    }
  }

  /** On the standby's thread. */
  private synchronized void overdue() {
    counters.overdue++;
    if (state == BridgeStatus.State.UP) {
      turn(BridgeStatus.State.OVERDUE);
      LOG.warn("The policy process has not answered for {} ms; the FIFO in Java schedules until it "
          + "does", config.roundDeadlineMs);
    }
  }

  private synchronized void back() {
    if (state == BridgeStatus.State.OVERDUE) {
      turn(BridgeStatus.State.UP);
    }
  }

  /**
   * Lets the new configuration and its process decide one round. Only if that went well it is kept
   * and governs; if anything fails, tree, saved parts and process of before go on.
   */
  private void tryOut(SwapDesk.Prepared next) {
    AppliedSetup old = applied;
    AppliedSetup wanted = new AppliedSetup(next.setup, old.version + 1, next.swap.yaml,
        next.swap.user, System.currentTimeMillis());
    Map<String, String> saved = new TreeMap<>(rounds.saved());
    SwapResult result;
    if (!next.swap.begin()) {
      result = SwapResult.plain(SwapResult.Outcome.UNAVAILABLE, "too late: nothing changed", old);
    } else {
      try {
        String wrong = trial.run(next.process.policy(), wanted);
        result = wrong == null ? SwapResult.applied(wanted) : goBack(wanted, old, saved, wrong
            + (state == BridgeStatus.State.STOPPED ? " (" + SwapDesk.STOPPING + ")" : ""));
      } catch (SetupRefusedException e) {
        result = SwapResult.refused(e, old);
      } catch (RuntimeException | Error e) {
        LOG.error("The trial of {} failed in the books", wanted, e);
        result = goBack(wanted, old, saved, "the books failed: " + e);
      }
      back();
    }
    if (result.isApplied()) {
      install(next.process, wanted);
      LOG.info("Applied {} in place of {}", wanted, old);
    } else {
      supervisor.endLater(next.process);
    }
    next.swap.finish(result);
  }

  private SwapResult goBack(AppliedSetup wanted, AppliedSetup old, Map<String, String> saved,
      String wrong) {
    String message = "the first round of the new configuration failed: " + wrong;
    try {
      trial.takeBack(old, saved);
      LOG.warn("{} was tried and taken back: {}", wanted, wrong);
      return SwapResult.plain(SwapResult.Outcome.FAILED, message + "; " + old
          + " governs as before", old);
    } catch (SetupRefusedException e) {
      // Somebody used a queue that only the new tree has, and a queue is not taken away in use.
      applied = wanted;
      if (current != null) {
        fail(message);
      }
      return SwapResult.plain(SwapResult.Outcome.FAILED, message + "; yet it cannot be taken back "
          + "while it runs, since meanwhile applications came: " + e.getMessage()
          + " It is not kept: a restart brings back " + old, wanted);
    }
  }

  private void install(Supervisor.Started fresh, AppliedSetup wanted) {
    Supervisor.Started before = current;
    current = fresh;
    process = fresh.policy().describe();
    applied = wanted;
    counters.swaps++;
    if (state != BridgeStatus.State.UP) {
      turn(BridgeStatus.State.UP);
    }
    keepSaved();
    if (before != null) {
      supervisor.endLater(before);
    }
  }
}
