package org.loomcard.yarn.bridge;

import org.loomcard.yarn.wire.EngineClock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What schedules now, since when, and why the policy does not. Changed by the round thread and by
 * the thread of the overdue fallback; read by any thread.
 */
final class BridgeMode {
  private static final Logger LOG = LoggerFactory.getLogger(BridgeMode.class);
  private final EngineClock clock;
  private volatile BridgeStatus.State state = BridgeStatus.State.STARTING;
  private volatile long sinceMs;
  private volatile String lastFailure = "";
  private volatile long recoveredMs = BridgeStatus.NOT_RECOVERED;
  private volatile String process = "starting";

  BridgeMode(EngineClock clock) {
    this.clock = clock;
  }

  /** Notes that the bridge starts now. */
  void start() {
    sinceMs = clock.nowMs();
  }

  /** Changes the state, unless the bridge has been stopped. */
  synchronized void set(BridgeStatus.State next) {
    if (state != BridgeStatus.State.STOPPED) {
      state = next;
      sinceMs = clock.nowMs();
    }
  }

  /** Notes that this process decides. */
  void up(String description) {
    process = description;
    if (state == BridgeStatus.State.FALLBACK) {
      LOG.warn("The policy process is back: {}", description);
    }
    if (!isUp()) {
      set(BridgeStatus.State.UP);
    }
    if (recoveredMs == BridgeStatus.NOT_RECOVERED) {
      recoveredMs = sinceMs;
    }
  }

  /** Notes that no process decides, and that one is being started. */
  void fallback() {
    process = "none; being started again";
    recoveredMs = BridgeStatus.NOT_RECOVERED;
    set(BridgeStatus.State.FALLBACK);
  }

  /** Notes that the process has not answered for {@code deadlineMs}. */
  synchronized void overdue(long deadlineMs) {
    if (isUp()) {
      set(BridgeStatus.State.OVERDUE);
      LOG.warn("The policy process has not answered for {} ms; the FIFO in Java schedules until it "
          + "does", deadlineMs);
    }
  }

  /** Notes that the process has answered. */
  synchronized void answered() {
    if (state == BridgeStatus.State.OVERDUE) {
      set(BridgeStatus.State.UP);
    }
  }

  /** Notes whether the fallback serves a queue that the policy left waiting. */
  synchronized void stalled(boolean any) {
    if (isUp() && any != (state == BridgeStatus.State.STALLED)) {
      set(any ? BridgeStatus.State.STALLED : BridgeStatus.State.UP);
    }
  }

  /** Whether the policy decides, for some queues at least. */
  private boolean isUp() {
    return state == BridgeStatus.State.UP || state == BridgeStatus.State.STALLED;
  }

  /** Notes why the fallback serves. */
  void failed(String reason) {
    lastFailure = reason;
  }

  boolean is(BridgeStatus.State one) {
    return state == one;
  }

  BridgeStatus.State state() {
    return state;
  }

  long sinceMs() {
    return sinceMs;
  }

  /** Empty if the policy never failed. */
  String lastFailure() {
    return lastFailure;
  }

  /** When the policy worked again after its last failure, or {@link BridgeStatus#NOT_RECOVERED}. */
  long recoveredMs() {
    return recoveredMs;
  }

  /** Which process decides, or what is being tried. */
  String process() {
    return process;
  }
}
