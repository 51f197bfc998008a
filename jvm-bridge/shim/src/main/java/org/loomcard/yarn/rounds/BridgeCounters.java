package org.loomcard.yarn.rounds;

import java.util.concurrent.atomic.AtomicLong;

/**
 * What the rounds have counted since the start. Each counter is written by one thread at a time.
 * Any thread may read it, each counter separately.
 */
public final class BridgeCounters {
  private final AtomicLong allocatedByFallback = new AtomicLong();
  private final RoundSteps steps = new RoundSteps();
  public volatile long rounds;
  volatile long records;
  public volatile long lastRoundMicros;
  volatile long roundMicros;
  volatile long late;
  volatile long cut;
  volatile long resyncs;
  volatile long faults;
  public volatile long failures;
  public volatile long starts;
  public volatile long swaps;
  public volatile long allocated;
  volatile long preempted;
  volatile long refused;
  public volatile long overdue;
  public volatile long stalls;

  public BridgeCounters() {
  }

  /** The steps of the present round; for code that the round thread runs. */
  public RoundSteps steps() {
    return steps;
  }

  /** Rounds in which the policy was called. */
  public long rounds() {
    return rounds;
  }

  /** Records sent. */
  public long records() {
    return records;
  }

  /** Microseconds from sending the last batch until its plan had been carried out. */
  public long lastRoundMicros() {
    return lastRoundMicros;
  }

  /** The sum of these microseconds over all rounds. */
  public long roundMicros() {
    return roundMicros;
  }

  /** Plans refused as a whole, as LATE. */
  public long late() {
    return late;
  }

  /** Rounds in which a policy's time ran out; the plan has what was decided until then. */
  public long cut() {
    return cut;
  }

  /** Times the policy's mirror asked to be rebuilt. */
  public long resyncs() {
    return resyncs;
  }

  /** Times a policy instance raised an exception. */
  public long faults() {
    return faults;
  }

  /** Times the breaker opened. */
  public long failures() {
    return failures;
  }

  /** Times a policy process became ready, without the first time. */
  public long restarts() {
    return Math.max(0, starts - 1);
  }

  /** Policy configurations applied while running. */
  public long swaps() {
    return swaps;
  }

  /** Containers allocated by plans. */
  public long allocated() {
    return allocated;
  }

  /** Containers marked for preemption by plans. */
  public long preempted() {
    return preempted;
  }

  /** Containers of decisions that were refused. */
  public long refused() {
    return refused;
  }

  /** Containers allocated by the fallback. */
  public long allocatedByFallback() {
    return allocatedByFallback.get();
  }

  /** Times the fallback served while the policy process had not answered yet. */
  public long overdue() {
    return overdue;
  }

  /** Times a queue was served by the fallback because its policy left an ask waiting. */
  public long stalls() {
    return stalls;
  }

  /** Adds containers that the fallback allocated. Any thread may call it. */
  public void countFallback(long containers) {
    if (containers > 0) {
      allocatedByFallback.addAndGet(containers);
    }
  }
}
