package org.loomcard.yarn.process;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends a policy that does not answer in time, so that the thread that waits for it continues. It
 * looks at all calls in progress every few milliseconds: a timer for every call would wake a thread
 * twice per round.
 */
public final class Watchdog {
  private static final Logger LOG = LoggerFactory.getLogger(Watchdog.class);
  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
  private final Set<Call> calls = ConcurrentHashMap.newKeySet();
  private final Thread thread = new Thread(this::watch, "loomcard-watchdog");
  private volatile boolean stopped;

  public Watchdog() {
    thread.setDaemon(true);
    thread.start();
  }

  /**
   * Sends a request and waits for the reply, at most {@code deadlineMs}.
   *
   * @param setting the key that sets this time, for the message
   * @throws PolicyFailureException when there is no reply; the policy has then been killed if it
   *     was late
   */
  public String ask(RunningPolicy policy, String text, long deadlineMs, String setting)
      throws PolicyFailureException {
    Call call = new Call(policy, deadlineMs);
    calls.add(call);
    try {
      return policy.client().decide(text);
    } catch (PolicyFailureException e) {
      if (call.overdue) {
        throw new PolicyFailureException("no reply within " + deadlineMs + " ms ("
            + setting + "); the policy process was killed", e);
      }
      String end = policy.howItEnded();
      if (end != null) {
        throw new PolicyFailureException("no reply from the policy process: " + end, e);
      }
      throw e;
    } finally {
      calls.remove(call);
    }
  }

  public void stop() {
    stopped = true;
    LockSupport.unpark(thread);
  }

  private void watch() {
    while (!stopped) {
      try {
        for (Call call : calls) {
          if (System.nanoTime() - call.endNanos >= 0 && calls.remove(call)) {
            call.overdue = true;
            end(call.policy);
          }
        }
      } catch (Throwable e) { // even a lack of memory must not end this thread
        LOG.error("A policy process is overdue and could not be ended", e);
      }
      LockSupport.parkNanos(this, TICK_NANOS);
    }
  }

  /** Ends it on a separate thread: a process that does not die must not keep us from the others. */
  private static void end(RunningPolicy policy) {
    Thread killer = new Thread(policy::kill, "loomcard-kill");
    killer.setDaemon(true);
    try {
      killer.start();
    } catch (OutOfMemoryError e) { // no more threads
      policy.kill();
    }
  }

  /** One call in progress. */
  private static final class Call {
    private final RunningPolicy policy;
    private final long endNanos;
    private volatile boolean overdue;

    private Call(RunningPolicy policy, long deadlineMs) {
      this.policy = policy;
      this.endNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(deadlineMs);
    }
  }
}
