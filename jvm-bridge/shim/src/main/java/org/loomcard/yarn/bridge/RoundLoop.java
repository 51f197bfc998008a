package org.loomcard.yarn.bridge;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.loomcard.yarn.policyconfig.AppliedConfig;
import org.loomcard.yarn.policyconfig.BridgeConfig;
import org.loomcard.yarn.policyconfig.PolicyConfigStore;
import org.loomcard.yarn.process.Breaker;
import org.loomcard.yarn.process.PolicyFailureException;
import org.loomcard.yarn.process.PolicyLauncher;
import org.loomcard.yarn.process.Supervisor;
import org.loomcard.yarn.process.Watchdog;
import org.loomcard.yarn.rounds.BridgeCounters;
import org.loomcard.yarn.rounds.PolicyRounds;
import org.loomcard.yarn.rounds.RoundEnd;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.rounds.Standby;
import org.loomcard.yarn.swap.ConfigSwap;
import org.loomcard.yarn.swap.ConfigSwapResult;
import org.loomcard.yarn.swap.DryRun;
import org.loomcard.yarn.swap.SwapCourse;
import org.loomcard.yarn.swap.SwapDesk;
import org.loomcard.yarn.swap.SwapTrial;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.Handshake;
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
  private final SchedulerState books;
  private final PolicyConfigStore store;
  private final Watchdog watchdog = new Watchdog();
  private final BridgeCounters counters = new BridgeCounters();
  private final Breaker breaker;
  private final RoundThrottle pace;
  private final Standby standby;
  private final Supervisor supervisor;
  private final SwapDesk swaps;
  private final PolicyRounds rounds;
  private final SwapCourse swapping;
  private final Thread thread = new Thread(this, "loomcard-rounds");
  private final RoundBarrier quiet = new RoundBarrier();
  private final AtomicReference<Map<String, String>> unwritten = new AtomicReference<>();
  private volatile Supervisor.Started current;
  private boolean served;
  private long graceEndMs;
  private volatile AppliedConfig applied;
  private volatile BridgeStatus.State state = BridgeStatus.State.STARTING;
  private volatile long sinceMs;
  private volatile String lastFailure = "";
  private volatile String process = "starting";

  RoundLoop(BridgeConfig config, EngineClock clock, SchedulerState books, PolicyConfigStore store,
      AppliedConfig applied, PolicyLauncher launcher, Handshake handshake) {
    this.config = config;
    this.clock = clock;
    this.books = books;
    this.store = store;
    this.applied = applied;
    this.breaker = new Breaker(config);
    this.pace = new RoundThrottle(config.roundHoldMs);
    this.standby = new Standby(books, counters, this::overdue);
    this.supervisor = new Supervisor(config, launcher, handshake, watchdog, breaker, pace::signal);
    this.swaps = new SwapDesk(supervisor, watchdog, new DryRun(config, books, watchdog,
        handshake.resourceTypes()), this::applied, pace::signal);
    this.rounds = new PolicyRounds(config, clock, books, watchdog, standby, counters);
    this.swapping = new SwapCourse(new SwapTrial(books, store, rounds, supervisor, pace::signal),
        supervisor, counters, new Seats());
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

  AppliedConfig applied() {
    return applied;
  }

  BridgeStatus status() {
    String failure = lastFailure.isEmpty() ? supervisor.lastFailure() : lastFailure;
    return new BridgeStatus(state, sinceMs, applied, counters, failure, process, rounds.reports(),
        rounds.waits(), rounds.faults());
  }

  ConfigSwapResult swap(ConfigSwap swap) {
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
    swapping.finish(config.stateDeadlineMs);
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
      } else if (current == null) {
        pace.rest(Standby.PAUSE_MS); // what fails at once fills the log
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
    swapping.step(swaps);
    keepSaved();
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
    use(fresh);
  }

  private void round() {
    try {
      RoundEnd end = rounds.run(current.policy(), swapping.inForce());
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

  /** What is saved in a trial may yet be taken back. Only the newest parts wait for the disk. */
  private void keepSaved() {
    if (!swapping.isPending() && rounds.takeSavedChanged()
        && unwritten.getAndSet(new TreeMap<>(rounds.saved())) == null) {
      supervisor.runLater(() -> store.keepSaved(unwritten.getAndSet(null)));
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
    none();
    long waitMs = breaker.nextBackoffMs();
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

  private void none() {
    process = "none; being started again";
    served = false;
    turn(BridgeStatus.State.FALLBACK);
  }

  private void use(Supervisor.Started next) {
    current = next;
    process = next.policy().describe();
    if (state != BridgeStatus.State.UP) {
      turn(BridgeStatus.State.UP);
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
    standby.served();
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

  /** What a swap asks of the loop. */
  private final class Seats implements SwapCourse.Loop {
    @Override
    public AppliedConfig applied() {
      return applied;
    }

    @Override
    public void govern(AppliedConfig next) {
      applied = next;
    }

    @Override
    public Supervisor.Started deciding() {
      return current;
    }

    @Override
    public void decide(Supervisor.Started next) {
      use(next);
    }

    @Override
    public void leave() {
      current = null;
      none();
    }

    @Override
    public void failed(String reason) {
      fail(reason);
    }

    @Override
    public boolean isStopping() {
      return state == BridgeStatus.State.STOPPED;
    }

    @Override
    public void answered() {
      back();
    }
  }
}
