package org.loomcard.yarn.wire;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.loomcard.yarn.config.PolicyConfig;

/**
 * A plan as the policy process returned it, immutable; docs/reference/wire.md says what each field
 * means.
 */
public final class PlanMessage {
  public final long round;
  public final List<Decision> decisions;
  public final List<Timer> timers;
  public final List<Wait> waits;
  /** JSON texts by queue path, for pages. */
  public final Map<String, String> reports;
  /** JSON texts by {@code path:policy}: what to give back after a restart of the process. */
  public final Map<String, String> saved;
  public final List<Fault> faults;
  public final List<Headroom> headroom;
  public final List<QueueWait> queueWaits;
  /** Null, or why the next batch must be a snapshot; then everything else is empty. */
  public final String resync;
  /** After how many questions of the policies the time of a turn was over; most often none. */
  public final long[] cuts;

  public PlanMessage(long round, List<Decision> decisions, List<Timer> timers, List<Wait> waits,
      Map<String, String> reports, Map<String, String> saved, List<Fault> faults,
      List<Headroom> headroom, List<QueueWait> queueWaits, String resync, long[] cuts) {
    this.round = round;
    this.decisions = Collections.unmodifiableList(decisions);
    this.timers = Collections.unmodifiableList(timers);
    this.waits = Collections.unmodifiableList(waits);
    this.reports = Collections.unmodifiableMap(reports);
    this.saved = Collections.unmodifiableMap(saved);
    this.faults = Collections.unmodifiableList(faults);
    this.headroom = Collections.unmodifiableList(headroom);
    this.queueWaits = Collections.unmodifiableList(queueWaits);
    this.resync = resync;
    this.cuts = cuts.clone();
  }

  /** How many containers the plan is to allocate. */
  public int containers() {
    int sum = 0;
    for (Decision decision : decisions) {
      sum += decision instanceof Allocate ? Math.max(0, ((Allocate) decision).count) : 0;
    }
    return sum;
  }

  /** {@link Allocate}, {@link Preempt}, {@link Reserve} or {@link Unreserve}. */
  public abstract static class Decision {
    /** The number of the queue in whose name it was decided. */
    public final int instance;

    private Decision(int instance) {
      this.instance = instance;
    }
  }

  /** A decision about one ask. */
  public abstract static class AskDecision extends Decision {
    public final int attempt;
    public final int priority;
    public final long allocationRequestId;

    private AskDecision(int attempt, int priority, long allocationRequestId, int instance) {
      super(instance);
      this.attempt = attempt;
      this.priority = priority;
      this.allocationRequestId = allocationRequestId;
    }
  }

  /** Allocate {@code count} containers of one ask on one node. */
  public static final class Allocate extends AskDecision {
    public final int node;
    public final int count;

    public Allocate(int attempt, int priority, long allocationRequestId, int node, int count,
        int instance) {
      super(attempt, priority, allocationRequestId, instance);
      this.node = node;
      this.count = count;
    }
  }

  /** Preempts one container: announces it to the AM, and kills it after {@code graceMs}. */
  public static final class Preempt extends Decision {
    public final long container;
    public final long graceMs;
    public final String reason;

    public Preempt(long container, long graceMs, String reason, int instance) {
      super(instance);
      this.container = container;
      this.graceMs = graceMs;
      this.reason = reason;
    }
  }

  /**
   * Reserves room on a node for one container of an ask. If the ask has its maximum of reservations
   * already, the one that was placed first ends.
   */
  public static final class Reserve extends AskDecision {
    public final int node;
    /** Null: for as long as the ask waits. */
    public final Long untilMs;

    public Reserve(int attempt, int priority, long allocationRequestId, int node, Long untilMs,
        int instance) {
      super(attempt, priority, allocationRequestId, instance);
      this.node = node;
      this.untilMs = untilMs;
    }
  }

  /** Removes the reservations of an ask. */
  public static final class Unreserve extends AskDecision {
    public Unreserve(int attempt, int priority, long allocationRequestId, int instance) {
      super(attempt, priority, allocationRequestId, instance);
    }
  }

  /** The next wake-up wanted by an instance that was called in this round. */
  public static final class Timer {
    public final int instance;
    /** Null: none. */
    public final Long atMs;

    public Timer(int instance, Long atMs) {
      this.instance = instance;
      this.atMs = atMs;
    }
  }

  /** Why an ask got no container. */
  public static final class Wait {
    public final int attempt;
    public final int priority;
    public final long allocationRequestId;
    public final String reason;
    /** Until when the policy keeps it waiting by a rule of its own; null: no rule does. */
    public final Long untilMs;

    public Wait(int attempt, int priority, long allocationRequestId, String reason, Long untilMs) {
      this.attempt = attempt;
      this.priority = priority;
      this.allocationRequestId = allocationRequestId;
      this.reason = reason;
      this.untilMs = untilMs;
    }
  }

  /** A rule of the policy keeps every ask below a queue waiting. */
  public static final class QueueWait {
    public final int queue;
    public final String reason;
    public final long untilMs;

    public QueueWait(int queue, String reason, long untilMs) {
      this.queue = queue;
      this.reason = reason;
      this.untilMs = untilMs;
    }
  }

  /** An instance that raised; its decisions are not in the plan. */
  public static final class Fault {
    public final int instance;
    public final String message;
    public final String traceback;

    public Fault(int instance, String message, String traceback) {
      this.instance = instance;
      this.message = message;
      this.traceback = traceback;
    }

    /** Returns the path of its queue, or {@code number N} for one that does not exist. */
    public String queue(PolicyConfig config) {
      return instance >= 0 && instance < config.queues.size() ? config.queues.get(instance).path
          : "number " + instance;
    }
  }

  /** The headroom for an AM, in place of the shim's own figure. */
  public static final class Headroom {
    public final int application;
    public final long[] amounts;

    public Headroom(int application, long[] amounts) {
      this.application = application;
      this.amounts = amounts;
    }
  }
}
