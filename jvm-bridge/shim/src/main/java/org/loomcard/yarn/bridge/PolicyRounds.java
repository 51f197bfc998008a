package org.loomcard.yarn.bridge;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One round after the other with a policy: close the batch, ask, read the plan, carry it out. */
final class PolicyRounds {
  private static final Logger LOG = LoggerFactory.getLogger(PolicyRounds.class);
  private final BridgeConfig config;
  private final EngineClock clock;
  private final Books books;
  private final Watchdog watchdog;
  private final BridgeCounters counters;
  private final WakeUps wakeUps = new WakeUps();
  private final Map<String, String> saved = new TreeMap<>();
  private boolean savedChanged;
  private boolean more;
  private long round;
  private long nextSequence = 1;
  private int lastRecords;
  private String snapshotReason = "start";
  private final Reports reports = new Reports();
  private final WaitReasons waits = new WaitReasons();

  PolicyRounds(BridgeConfig config, EngineClock clock, Books books, Watchdog watchdog,
      BridgeCounters counters) {
    this.config = config;
    this.clock = clock;
    this.books = books;
    this.watchdog = watchdog;
    this.counters = counters;
  }

  /** The next batch begins with a snapshot, for this reason. */
  void snapshotNext(String reason) {
    snapshotReason = reason;
    wakeUps.clear();
    waits.clear();
  }

  /** Whether there is anything to tell or ask now. */
  boolean isWanted() {
    return snapshotReason != null || more || books.hasNews()
        || wakeUps.earliestMs() <= clock.nowMs();
  }

  /** Whether a round should wait a little for more to happen. */
  boolean mayHold() {
    return snapshotReason == null && !more && wakeUps.earliestMs() > clock.nowMs();
  }

  /** Milliseconds to the next wake-up, at most {@code most}. */
  long toNextWakeUpMs(long most) {
    long earliest = wakeUps.earliestMs();
    return earliest == Long.MAX_VALUE ? most
        : Math.max(0, Math.min(most, earliest - clock.nowMs()));
  }

  int lastRecords() {
    return lastRecords;
  }

  Map<String, String> reports() {
    return reports.all();
  }

  List<PlanMessage.Wait> waits() {
    return waits.copy();
  }

  /** What the policies saved, by {@code path:policy}. */
  Map<String, String> saved() {
    return saved;
  }

  /** Whether a plan brought saved parts since the last call. */
  boolean takeSavedChanged() {
    boolean changed = savedChanged;
    savedChanged = false;
    return changed;
  }

  /**
   * Drops what policies reported, and what was saved by those that the set-up has no longer; a
   * policy that stays keeps its part.
   */
  void forgetOutside(Setup setup) {
    reports.clear();
    Set<String> kept = new HashSet<>();
    for (QueueSpec queue : setup.queues) {
      kept.add(queue.path + ":" + queue.policy);
    }
    savedChanged |= saved.keySet().retainAll(kept);
  }

  /**
   * Runs one round.
   *
   * @return whether it was a good one: on time, no instance raised, no resync
   * @throws PolicyFailureException when the policy is of no further use
   */
  boolean run(RunningPolicy policy, AppliedSetup applied) throws PolicyFailureException {
    BatchWriter batch = close(applied);
    long begin = System.nanoTime();
    String reply = watchdog.ask(policy, batch.finish(), config.roundHardDeadlineMs);
    long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
    boolean late = tookMs > config.roundDeadlineMs;
    PlanMessage plan = read(reply);
    counters.rounds++;
    boolean good = plan.resync == null ? carryOut(plan, late) : resync(plan.resync);
    counters.lastRoundMicros = TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - begin);
    return good;
  }

  private BatchWriter close(AppliedSetup applied) {
    long now = clock.nowMs();
    round++;
    BatchWriter batch = new BatchWriter(round, nextSequence, now, config.roundMaxRecords);
    boolean snapshot = snapshotReason != null;
    if (snapshot) {
      batch.snapshot(now, snapshotReason);
      batch.setup(now, applied.version, applied.setup);
      batch.saved(now, saved);
    }
    books.close(batch, snapshot);
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

  private boolean resync(String reason) {
    counters.resyncs++;
    more = false;
    LOG.warn("Round {}: the policy's mirror is to be rebuilt: {}", round, reason);
    snapshotNext(reason);
    return false;
  }

  private boolean carryOut(PlanMessage plan, boolean late) {
    CommitReport report = books.commit(plan, late);
    counters.granted += report.granted;
    counters.preempted += report.preempted;
    counters.refused += report.refused;
    if (late) {
      counters.late++;
      LOG.warn("Round {}: the plan came after more than {} ms and was refused whole ({} decisions)",
          round, config.roundDeadlineMs, plan.decisions.size());
    }
    for (PlanMessage.Fault fault : plan.faults) {
      counters.faults++;
      LOG.warn("Round {}: the policy of queue number {} raised: {}\n{}", round, fault.instance,
          fault.message, fault.traceback);
    }
    // A plan as large as a plan may be: the policy was stopped, and has more to give.
    more = plan.containers() >= config.roundMaxContainers;
    wakeUps.update(plan.timers);
    saved.putAll(plan.saved);
    savedChanged |= !plan.saved.isEmpty();
    waits.update(plan.waits);
    reports.update(plan.reports);
    return !late && plan.faults.isEmpty();
  }
}
