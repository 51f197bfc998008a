package org.loomcard.yarn.bridge;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.config.ConfigRefusedException;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.config.PolicyConfigStore;
import org.loomcard.yarn.process.Breaker;
import org.loomcard.yarn.process.PolicyFailureException;
import org.loomcard.yarn.process.RunningPolicy;
import org.loomcard.yarn.process.Supervisor;
import org.loomcard.yarn.process.Watchdog;
import org.loomcard.yarn.rounds.BridgeCounters;
import org.loomcard.yarn.rounds.OverdueFallback;
import org.loomcard.yarn.rounds.PolicyRounds;
import org.loomcard.yarn.rounds.RoundResult;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.Handshake;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The round thread. Only this thread uses the scheduler's state for the policy: rounds while the
 * policy answers, the fallback while no policy does, the trial of a new configuration between
 * rounds. While it waits too long for something else, {@link OverdueFallback} uses the scheduler's
 * state.
 */
final class RoundLoop implements Runnable, SwapExecution.Loop {
  private static final Logger LOG = LoggerFactory.getLogger(RoundLoop.class);
  private static final long IDLE_MS = 1000;
  private static final long FALLBACK_MS = 200;
  private static final String STARTING = "Waits for the policy process, which is starting:"
      + " STARTING";
  private static final String FALLBACK = "Waits while no policy process schedules: FALLBACK: the"
      + " FIFO in Java serves all queues in order of submission";
  private final BridgeConfig config;
  private final EngineClock clock;
  private final SchedulerState scheduler;
  private final PolicyConfigStore store;
  private final Watchdog watchdog = new Watchdog();
  private final BridgeCounters counters = new BridgeCounters();
  private final Breaker breaker;
  private final RoundThrottle throttle;
  private final OverdueFallback overdueFallback;
  private final Supervisor supervisor;
  private final SwapPreparation swaps;
  private final PolicyRounds rounds;
  private final StalledQueues stalled;
  private final Explanations explanations;
  private final Capsules capsules;
  private final SwapExecution swapping;
  private final Thread thread = new Thread(this, "loomcard-rounds");
  private final RoundBarrier barrier = new RoundBarrier();
  private final AtomicReference<Map<String, String>> unwritten = new AtomicReference<>();
  private volatile Supervisor.Started current;
  private final BridgeMode mode;
  private boolean served;
  private long graceEndMs;
  private volatile AppliedConfig applied;

  RoundLoop(BridgeConfig config, EngineClock clock, SchedulerState scheduler,
      PolicyConfigStore store, AppliedConfig applied, RunningPolicy.Launcher launcher,
      Handshake handshake) {
    this.config = config;
    this.clock = clock;
    this.scheduler = scheduler;
    this.store = store;
    this.applied = applied;
    this.mode = new BridgeMode(clock);
    this.breaker = new Breaker(config);
    this.throttle = new RoundThrottle(config.batchDelayMs);
    this.overdueFallback = new OverdueFallback(scheduler, counters, this::overdue);
    this.supervisor = new Supervisor(config, launcher, handshake, watchdog, breaker,
        throttle::signal);
    this.swaps = new SwapPreparation(supervisor, watchdog, new DryRun(config, scheduler, watchdog,
        handshake.resourceTypes()), this::applied, throttle::signal);
    this.rounds = new PolicyRounds(config, clock, scheduler, watchdog, overdueFallback, counters,
        handshake.hello(true));
    this.stalled = new StalledQueues(config, scheduler, counters, rounds.reasons(),
        reason -> keepCapsule("stalled", reason));
    this.explanations = new Explanations(config, rounds, scheduler, throttle::signal);
    this.capsules = new Capsules(config.stateDir, clock, rounds.history(), handshake.hello(true));
    this.swapping = new SwapExecution(scheduler, store, rounds, supervisor, counters, this,
        throttle::signal);
    thread.setDaemon(true);
  }

  void start() {
    PolicyConfig recovered = scheduler.begin();
    if (recovered != null) {
      applied = applied.with(recovered);
    }
    mode.start();
    graceEndMs = mode.sinceMs() + config.startGraceMs;
    rounds.saved().putAll(store.loadSaved());
    supervisor.startAfter(0);
    overdueFallback.start();
    swaps.start();
    thread.start();
  }

  void stop() throws InterruptedException {
    mode.set(BridgeStatus.State.STOPPED);
    throttle.signal();
    swaps.stop();
    supervisor.stop();
    thread.join(10 * IDLE_MS);
    capsules.stop(config.stateDeadlineMs);
    overdueFallback.stop();
    watchdog.stop();
  }

  /**
   * Signals that something happened that the policy should see. Any thread may call it; it costs an
   * increment.
   */
  void signal() {
    throttle.signal();
  }

  /** Signals that an AM asked for something. Any thread may call it. */
  void signalDemand() {
    throttle.signalDemand();
  }

  BridgeStatus status() {
    String failure = mode.lastFailure().isEmpty() ? supervisor.lastFailure()
        : mode.lastFailure();
    long recoveredMs = failure.isEmpty() ? BridgeStatus.NOT_RECOVERED : mode.recoveredMs();
    Supervisor.Started now = current;
    return new BridgeStatus(mode.state(), mode.sinceMs(), applied, counters, failure,
        recoveredMs, mode.process(), now == null ? "" : now.build(),
        this::readReports, rounds.reasons(), rounds.faults(), stalled.all());
  }

  private Map<String, String> readReports() {
    Map<String, String> found = rounds.readReports();
    throttle.signal(); // the first reader for a while is a reason for a round
    return found;
  }

  /** Explains an application or a queue; null if no policy process can. Any thread may call it. */
  String explain(String kind, String name, long withinMs) throws InterruptedException {
    return current == null ? null : explanations.ask(kind, name, withinMs);
  }

  ConfigSwapResult swap(ConfigSwap swap) {
    return swaps.ask(swap);
  }

  /**
   * Waits until all that happened before this call has been handled; returns false if that took too
   * long.
   */
  boolean awaitDecisions(long ms) throws InterruptedException {
    return barrier.await(ms, throttle::signal);
  }

  @Override
  public void run() {
    while (!mode.is(BridgeStatus.State.STOPPED)) {
      try {
        turnOnce();
      } catch (Throwable e) { // without this thread nothing schedules
        LOG.error("The round thread failed; it continues", e);
      }
    }
    swapping.finish(config.stateDeadlineMs);
  }

  private void turnOnce() {
    counters.steps().woken = System.nanoTime();
    long ticket = barrier.ticket();
    throttle.take();
    try {
      step();
    } catch (RuntimeException | Error e) {
      LOG.error("A round failed in the scheduler's state; the policy gets a snapshot", e);
      rounds.snapshotNext("the scheduler's state failed: " + e);
      if (breaker.bad() && current != null) {
        failed("the scheduler's state failed: " + e);
      } else if (current == null) {
        throttle.rest(OverdueFallback.PAUSE_MS); // an immediate failure would fill the log
      }
    }
    if (!mode.is(BridgeStatus.State.STARTING) && !(current != null && rounds.isWanted())) {
      barrier.reached(ticket);
    }
    throttle.await(waitMs());
  }

  /** Whether it may act: YARN's own tests want decisions only at a node's heartbeat. */
  private boolean mayAct() {
    return config.inlineWaitMs == 0 || barrier.isAsked();
  }

  private long waitMs() {
    if (current != null) {
      if (!mayAct()) {
        return IDLE_MS;
      }
      long most = scheduler.hasDemand() ? stalled.toNextMs(clock.nowMs(), IDLE_MS) : IDLE_MS;
      return rounds.isWanted() ? 0
          : explanations.toNextMs(clock.nowMs(), rounds.toNextWakeUpMs(most));
    }
    return mode.is(BridgeStatus.State.STARTING) ? Math.max(0, graceEndMs - clock.nowMs())
        : served && !scheduler.isFallbackUnfinished() ? FALLBACK_MS : 0;
  }

  private void step() {
    if (current != null && current.hasEnded()) {
      failed("the policy process ended by itself");
    }
    Supervisor.Started fresh = supervisor.takeReady();
    if (fresh != null && current == null) {
      close(fresh);
    } else if (fresh != null) {
      supervisor.endLater(fresh);
    }
    swapping.step(swaps);
    if (!swapping.isPending()) {
      changeQueues();
    }
    keepSaved();
    if (current == null) {
      serveWithout();
      explanations.without(clock.nowMs(), mode.is(BridgeStatus.State.STARTING) ? STARTING
          : FALLBACK);
      return;
    }
    stalled.step(clock.nowMs());
    mode.stalled(stalled.isServing());
    if (mayAct() && rounds.isWanted()) {
      if (rounds.mayDelay() && config.inlineWaitMs == 0) {
        throttle.delay(rounds.lastRecords(), scheduler::isUrgent);
      }
      counters.steps().begun = System.nanoTime();
      round();
    }
    explain();
  }

  private void explain() {
    if (current == null) {
      return; // it failed in this round
    }
    try {
      explanations.step(current.policy(), clock.nowMs());
    } catch (PolicyFailureException e) {
      failed(e.getMessage());
    }
  }

  /** Creates the queues that submissions wait for, and removes created ones that are idle. */
  private void changeQueues() {
    PolicyConfig next = scheduler.changedQueues(clock.nowMs());
    if (next == null) {
      return;
    }
    try {
      if (next != applied.policyConfig) {
        scheduler.apply(next, applied.version);
        applied = applied.with(next);
        rounds.forgetOutside(next);
        rounds.snapshotNext("queues were created or removed");
        supervisor.runLater(() -> store.keepCreated(next));
      }
    } catch (ConfigRefusedException e) { // an application came meanwhile; look again later
      LOG.debug("Created queues stay as they are: {}", e.getMessage());
    } finally {
      scheduler.endTrial(); // what waits for its queue comes now
    }
  }

  /** Closes the breaker: a policy process is ready again. */
  private void close(Supervisor.Started fresh) {
    counters.starts++;
    rounds.forgetFaults();
    rounds.snapshotNext(counters.starts == 1 ? "start" : "the policy process was started again");
    use(fresh);
  }

  private void round() {
    try {
      RoundResult end = rounds.run(current.policy(), swapping.inForce());
      mode.answered();
      if (end.bad != null || end.fault != null) {
        keepCapsule(end.bad != null ? "late" : "raised", end.bad != null ? end.bad : end.fault);
      }
      if (end.bad == null) { // a fault concerns one queue only
        breaker.good();
      } else if (breaker.bad()) {
        failed(config.breakerFailures
            + " bad rounds in a row; the log lines before say what was bad");
      }
      keepSaved();
    } catch (PolicyFailureException e) {
      failed(e.getMessage());
    }
  }

  /**
   * Writes what policies saved, except in a trial, which may be rolled back. Only the newest parts
   * wait for the disk.
   */
  private void keepSaved() {
    if (!swapping.isPending() && rounds.takeSavedChanged()
        && unwritten.getAndSet(new TreeMap<>(rounds.saved())) == null) {
      supervisor.runLater(() -> store.keepSaved(unwritten.getAndSet(null)));
    }
  }

  /** Opens the breaker: the fallback serves; the process is ended and started again later. */
  @Override
  public void failed(String reason) {
    Supervisor.Started gone = current;
    current = null;
    if (mode.is(BridgeStatus.State.STOPPED)) {
      return;
    }
    keepCapsule("failed", reason);
    mode.failed(reason);
    serveByFallback();
    long waitMs = breaker.nextBackoffMs();
    LOG.warn("The FIFO in Java schedules now, since the policy failed: {}. The policy process is "
        + "started again in {} ms", reason, waitMs);
    supervisor.replace(gone, waitMs, traceback -> {
      if (!traceback.isEmpty()) {
        mode.failed(reason + "\n" + traceback);
        LOG.warn("The policy process says of its failure:\n{}", traceback);
      }
      counters.failures++; // last: then a reader of the count finds the reason
    });
  }

  private void keepCapsule(String kind, String reason) {
    capsules.keep(kind, reason, swapping.inForce(), mode.process());
  }

  private void serveByFallback() {
    stalled.clear();
    served = false;
    mode.fallback();
  }

  private void serveWithout() {
    if (mode.is(BridgeStatus.State.STARTING)) {
      if (clock.nowMs() < graceEndMs) {
        return;
      }
      LOG.warn("The FIFO in Java schedules now: no policy process was ready within {} ms. {}",
          config.startGraceMs, supervisor.lastFailure());
      mode.set(BridgeStatus.State.FALLBACK);
    }
    overdueFallback.served();
    // First forget, then serve: an event in between causes another round.
    scheduler.clearPendingEvents();
    counters.countFallback(scheduler.fallbackRound());
    if (served && !scheduler.isFallbackUnfinished()) {
      throttle.rest(OverdueFallback.PAUSE_MS); // other threads need YARN's lock too
    }
    served = true;
  }

  /** Called on the thread of the overdue fallback. */
  private synchronized void overdue() {
    counters.overdue++;
    mode.overdue(config.roundDeadlineMs);
  }

  // What a swap needs of the loop.

  @Override
  public AppliedConfig applied() {
    return applied;
  }

  @Override
  public void setApplied(AppliedConfig next) {
    applied = next;
  }

  @Override
  public Supervisor.Started current() {
    return current;
  }

  @Override
  public void use(Supervisor.Started next) {
    stalled.clear();
    current = next;
    mode.up(next.policy().describe());
  }

  @Override
  public void dropCurrent() {
    current = null;
    serveByFallback();
  }

  @Override
  public boolean isStopping() {
    return mode.is(BridgeStatus.State.STOPPED);
  }

  @Override
  public void answered() {
    mode.answered();
  }
}
