package org.loomcard.yarn.rounds;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.config.QueueSpec;
import org.loomcard.yarn.json.MessageException;
import org.loomcard.yarn.process.PolicyFailureException;
import org.loomcard.yarn.process.RunningPolicy;
import org.loomcard.yarn.process.Watchdog;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.PlanMessage;
import org.loomcard.yarn.wire.PlanReader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs one round after the other with a policy: close the batch, call, read the plan, carry it out.
 */
public final class PolicyRounds {
  private static final Logger LOG = LoggerFactory.getLogger(PolicyRounds.class);
  private static final String STILL_WRITING = "[\"explaining\"";
  private static final long HEADER_EVERY_MS = 200;
  private static final long HEADER_AGAIN_MS = 60_000;
  private final BridgeConfig config;
  private final EngineClock clock;
  private final SchedulerState scheduler;
  private final Watchdog watchdog;
  private final OverdueFallback overdueFallback;
  private final BridgeCounters counters;
  private final RefusalBackoff refusals;
  private final Timers wakeUps = new Timers();
  private final Map<String, String> saved = new TreeMap<>();
  private boolean savedChanged;
  private boolean more;
  private long round;
  private long nextSequence = 1;
  private int lastRecords;
  private String snapshotReason = "start";
  private final Reports reports;
  private final WaitReasons waits = new WaitReasons();
  private final Map<String, PolicyFault> faults = new ConcurrentSkipListMap<>();
  private boolean afterFault;
  private final RoundHistory history = new RoundHistory();
  private long nextHeaderMs;
  private long headerMark;
  private final String hello;

  /** @param hello the request by which a policy process learns what it is connected to */
  public PolicyRounds(BridgeConfig config, EngineClock clock, SchedulerState scheduler,
      Watchdog watchdog, OverdueFallback overdueFallback, BridgeCounters counters, String hello) {
    this.hello = hello;
    this.config = config;
    this.clock = clock;
    this.scheduler = scheduler;
    this.watchdog = watchdog;
    this.overdueFallback = overdueFallback;
    this.refusals = new RefusalBackoff(config.refusedRounds);
    this.counters = counters;
    this.reports = new Reports(clock, config.journalDir != null);
  }

  /** Makes the next batch begin with a snapshot, for this reason. */
  public void snapshotNext(String reason) {
    snapshotReason = reason;
    wakeUps.clear();
    waits.clear();
  }

  /** Whether a round is wanted now. */
  public boolean isWanted() {
    long now = clock.nowMs();
    return snapshotReason != null || more || scheduler.hasPendingEvents()
        || wakeUps.earliestMs() <= now || reports.isReaderNew()
        || scheduler.hasRefusals() && refusals.untilMs() <= now;
  }

  /** Whether a round should wait a little for more to happen. */
  public boolean mayDelay() {
    return snapshotReason == null && !more && wakeUps.earliestMs() > clock.nowMs();
  }

  /** Returns the milliseconds to the next wake-up or the end of a pause, at most {@code most}. */
  public long toNextWakeUpMs(long most) {
    long next = wakeUps.earliestMs();
    if (scheduler.hasRefusals()) {
      next = Math.min(next, refusals.untilMs());
    }
    return next == Long.MAX_VALUE ? most : Math.max(0, Math.min(most, next - clock.nowMs()));
  }

  public int lastRecords() {
    return lastRecords;
  }

  /** The reports, for somebody who reads them; policies then report often. Any thread may call. */
  public Map<String, String> readReports() {
    return reports.read();
  }

  /** The rounds from which a replay can begin. */
  public RoundHistory history() {
    return history;
  }

  /** Why asks wait, as the policy states it. */
  public WaitReasons reasons() {
    return waits;
  }

  /** What policies raised under this configuration: the last fault of each queue. */
  public List<PolicyFault> faults() {
    return new ArrayList<>(faults.values());
  }

  /** Forgets faults, as another process begins: its policies have raised nothing yet. */
  public void forgetFaults() {
    faults.clear();
  }

  /** What the policies saved, by {@code path:policy}. */
  public Map<String, String> saved() {
    return saved;
  }

  /** Restores what was saved before a trial, and forgets what was reported in it. */
  public void restore(Map<String, String> before) {
    reports.clear();
    faults.clear();
    saved.clear();
    saved.putAll(before);
    savedChanged = false;
  }

  /** Whether a plan brought saved parts since the last call. */
  public boolean takeSavedChanged() {
    boolean changed = savedChanged;
    savedChanged = false;
    return changed;
  }

  /**
   * Drops what policies reported, and what was saved by policies that are no longer in the policy
   * configuration; a policy that stays keeps its part.
   */
  public void forgetOutside(PolicyConfig policyConfig) {
    reports.clear();
    faults.clear();
    Set<String> kept = new HashSet<>();
    for (QueueSpec queue : policyConfig.queues) {
      kept.add(queue.path + ":" + queue.policy);
    }
    savedChanged |= saved.keySet().retainAll(kept);
  }

  /**
   * Runs one round. When the policy takes longer than a round may take, the fallback serves. If it
   * allocated anything, or the time for this round has ended, the plan is refused as a whole.
   *
   * @throws PolicyFailureException when the policy cannot be used any more
   */
  public RoundResult run(RunningPolicy policy, AppliedConfig applied)
      throws PolicyFailureException {
    return run(policy, applied, config.roundHardDeadlineMs, BridgeConfig.ROUND_HARD_DEADLINE_MS);
  }

  /**
   * Runs a round of a policy on trial. A plan that is late fails the trial, so it is not waited
   * for: the earlier policy is to have the cluster back.
   */
  public RoundResult runTrial(RunningPolicy policy, AppliedConfig applied)
      throws PolicyFailureException {
    return run(policy, applied, config.roundDeadlineMs, BridgeConfig.ROUND_DEADLINE_MS);
  }

  private RoundResult run(RunningPolicy policy, AppliedConfig applied, long deadlineMs,
      String setting) throws PolicyFailureException {
    boolean snapshot = snapshotReason != null;
    if (snapshot) {
      history.begin("[\"segment\",{\"hello\":" + hello + "}]");
    } else if (history.isFull()) {
      renewHistory(policy);
    }
    BatchWriter batch = close(applied);
    String text = batch.finish();
    history.add(text);
    long extraMs = snapshot ? batch.count() * config.roundSnapshotMicros / 1000 : 0;
    long begin = counters.steps().sent = System.nanoTime();
    String reply;
    int byFallback = 0;
    overdueFallback.begin(config.roundDeadlineMs);
    try {
      reply = watchdog.ask(policy, text, deadlineMs + extraMs, setting);
    } finally {
      byFallback = overdueFallback.end();
    }
    long replied = counters.steps().replied = System.nanoTime();
    long tookMs = TimeUnit.NANOSECONDS.toMillis(replied - begin);
    boolean slow = tookMs > config.roundDeadlineMs + extraMs;
    PlanMessage plan = read(reply);
    history.add(reply);
    counters.rounds++;
    counters.steps().read = System.nanoTime();
    RoundResult end = plan.resync != null ? resync(plan.resync)
        : carryOut(plan, slow, byFallback, applied.policyConfig);
    counters.lastRoundMicros = TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - begin);
    counters.roundMicros += counters.lastRoundMicros;
    return end;
  }

  /**
   * Asks the process for its account of its state, and later, while it writes that in a copy of
   * itself, whether it has ended. A number names the state, so that the account of an earlier one,
   * for which nobody waits any more, is never taken for it.
   */
  private void renewHistory(RunningPolicy policy) throws PolicyFailureException {
    long now = clock.nowMs();
    if (now < nextHeaderMs) {
      return;
    }
    nextHeaderMs = now + HEADER_EVERY_MS;
    boolean asked = history.isMarked();
    if (!asked) {
      headerMark++;
    }
    String reply = call(policy, "[\"header\"," + headerMark + "]");
    if (!asked) {
      history.mark();
    }
    if (RoundHistory.isPacked(reply)) {
      history.beginAtMark(reply);
    } else if (!reply.startsWith(STILL_WRITING)) {
      nextHeaderMs = now + HEADER_AGAIN_MS;
      LOG.warn("The policies' state cannot be written for capsules: {}. {}", reply,
          history.unmark() ? "It is asked for again in " + HEADER_AGAIN_MS / 1000 + " s"
              : "There are no capsules until the process or its configuration is replaced");
    }
  }

  /**
   * Sends a request that is no batch, between two rounds; returns the reply. The fallback serves if
   * that takes too long.
   *
   * @throws PolicyFailureException when the policy cannot be used any more
   */
  public String ask(RunningPolicy policy, String request) throws PolicyFailureException {
    boolean unserved = overdueFallback.isUnserved();
    String reply = call(policy, request);
    if (!unserved) {
      overdueFallback.served(); // the next wait is no longer for this
    }
    return reply;
  }

  private String call(RunningPolicy policy, String request) throws PolicyFailureException {
    overdueFallback.begin(config.roundDeadlineMs);
    try {
      return watchdog.ask(policy, request, config.roundHardDeadlineMs,
          BridgeConfig.ROUND_HARD_DEADLINE_MS);
    } finally {
      overdueFallback.end();
    }
  }

  private BatchWriter close(AppliedConfig applied) {
    long now = clock.nowMs();
    round++;
    BatchWriter batch = new BatchWriter(round, nextSequence, now);
    boolean snapshot = snapshotReason != null;
    if (snapshot) {
      batch.snapshot(now, snapshotReason);
      batch.config(now, applied.version, applied.policyConfig);
      batch.saved(now, saved);
    }
    scheduler.close(batch, snapshot);
    reports.write(batch, snapshot);
    for (int instance : wakeUps.takeDue(now)) {
      batch.timer(now, instance);
    }
    snapshotReason = null;
    nextSequence += batch.count();
    lastRecords = batch.count();
    counters.records += batch.count();
    return batch;
  }

  private PlanMessage read(String reply) throws PolicyFailureException {
    try {
      PlanMessage plan = PlanReader.read(reply);
      if (plan.round != round) {
        throw new MessageException("plan: expected round " + round + ", found " + plan.round);
      }
      return plan;
    } catch (MessageException e) {
      throw new PolicyFailureException(e.getMessage(), e);
    }
  }

  private RoundResult resync(String reason) {
    counters.resyncs++;
    more = false;
    LOG.warn("Round {}: the policy's mirror is to be rebuilt: {}", round, reason);
    snapshotNext(reason);
    return new RoundResult("the policy's mirror was lost: " + reason, null);
  }

  private RoundResult carryOut(PlanMessage plan, boolean slow, int byFallback,
      PolicyConfig policyConfig) {
    boolean late = slow || byFallback > 0;
    CommitReport report = scheduler.commit(plan, late);
    counters.allocated += report.allocated;
    counters.preempted += report.preempted;
    counters.refused += report.refused;
    if (late) {
      counters.late++;
      LOG.warn("Round {}: the plan came after more than {} ms and was refused whole ({} decisions);"
          + " the fallback allocated {} meanwhile", round, config.roundDeadlineMs,
          plan.decisions.size(), byFallback);
    } else {
      overdueFallback.served();
    }
    counters.cut += plan.cuts.length > 0 ? 1 : 0;
    String fault = note(plan.faults, policyConfig);
    // When a plan is as large as a plan may be, the policy was stopped and has more to give, unless
    // all of it was refused. And when the policy of a queue raised, another one serves the queue
    // from the next round on.
    boolean stopped = plan.containers() >= config.roundMaxContainers && report.allocated > 0;
    more = stopped || fault != null && !afterFault;
    afterFault = fault != null;
    wakeUps.update(plan.timers);
    saved.putAll(plan.saved);
    savedChanged |= !plan.saved.isEmpty();
    waits.update(plan.waits, plan.queueWaits);
    waits.setBusy(2L * report.allocated >= config.roundMaxContainers);
    reports.update(plan.reports);
    pauseAfter(report, late);
    return new RoundResult(slow ? "the plan came too late" : null, fault);
  }

  /** Returns the last fault as a sentence; null if there was none. */
  private String note(List<PlanMessage.Fault> raised, PolicyConfig policyConfig) {
    String fault = null;
    for (PlanMessage.Fault each : raised) {
      counters.faults++;
      String queue = each.queue(policyConfig);
      fault = "the policy of queue " + queue + " raised: " + each.message;
      LOG.warn("Round {}: {}\n{}", round, fault, each.traceback);
      faults.put(queue, new PolicyFault(queue, clock.nowMs(), each.message, each.traceback));
    }
    return fault;
  }

  private void pauseAfter(CommitReport report, boolean late) {
    if (late || report.refused == 0 || report.allocated + report.preempted > 0) {
      refusals.clear();
    } else if (refusals.add(clock.nowMs())) {
      LOG.warn("{} plans in a row were refused whole; the policy's mirror is rebuilt",
          refusals.inARow());
      snapshotNext(refusals.inARow() + " plans in a row were refused");
    }
  }
}
