package org.loomcard.yarn.state;

/**
 * When a container ran, as well as heartbeats let it be known, in ms since the engine's zero. A
 * NodeManager reports neither when a container was launched nor when it ended, only with each
 * heartbeat that it runs or has ended. A launch is taken for the moment in which the AM fetched the
 * container where no heartbeat lies between, since AMs launch at once; an event that is only known
 * to lie between two moments is taken for their middle. So tasks shorter than a heartbeat keep
 * their length on average.
 */
public final class RunTimes {
  private long fetchedMs = Long.MIN_VALUE;
  private Long startedMs;
  private Long launchedMs;
  private Long endedMs;

  /** Notes that the AM has received the container. */
  public synchronized void fetched(long nowMs) {
    fetchedMs = nowMs;
  }

  /** Notes that a heartbeat reported it RUNNING; the heartbeat before was at {@code lastMs}. */
  public synchronized void started(long lastMs, long nowMs) {
    startedMs = nowMs;
    launchedMs = fetchedMs >= lastMs ? fetchedMs : middle(lastMs, nowMs);
  }

  /** Notes that a node reported it RUNNING after a restart of the ResourceManager. */
  public synchronized void recovered(long allocatedMs) {
    startedMs = allocatedMs;
    launchedMs = allocatedMs;
  }

  /** Notes that a heartbeat reported its end; the heartbeat before was at {@code lastMs}. */
  public synchronized void ended(long lastMs, long nowMs) {
    if (endedMs != null) {
      return;
    }
    if (launchedMs != null) {
      endedMs = middle(Math.max(lastMs, launchedMs), nowMs);
    } else if (fetchedMs >= lastMs) {
      launchedMs = fetchedMs;
      endedMs = middle(fetchedMs, nowMs);
    } else {
      long third = (nowMs - lastMs) / 3;
      launchedMs = lastMs + third;
      endedMs = nowMs - third;
    }
  }

  /** Notes that the ResourceManager ended it. */
  public synchronized void cut(long nowMs) {
    if (endedMs == null) {
      endedMs = nowMs;
    }
  }

  /** When a heartbeat first reported it RUNNING; null when none has. */
  public synchronized Long startedMs() {
    return startedMs;
  }

  /** The estimate of its launch; null when it is not known to have run. */
  public synchronized Long launchedMs() {
    return launchedMs;
  }

  /** The estimate of its end; null while it has not ended. */
  public synchronized Long endedMs() {
    return endedMs;
  }

  private static long middle(long from, long to) {
    return from + (to - from) / 2;
  }
}
