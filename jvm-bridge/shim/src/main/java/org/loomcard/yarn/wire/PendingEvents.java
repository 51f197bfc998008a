package org.loomcard.yarn.wire;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What the policy has not been sent. Events wait in the order in which they happened. Of asks and
 * blacklists it only notes that some changed, since they are read when the batch is closed.
 *
 * <p>YARN's threads write it while they hold the scheduler's lock, for reading or writing. The
 * round thread empties it while it holds the lock for writing, so a batch never sees half of a
 * change.
 */
public final class PendingEvents {
  /** A record that is written when the batch has been closed. */
  public interface Event {
    void write(BatchWriter out);
  }

  /**
   * The batch with an ask, and the one after it: a policy may serve asks at heartbeats only, and
   * the first has none if it was sent at once.
   */
  private static final int URGENT_BATCHES = 2;

  private final Queue<Event> events = new ConcurrentLinkedQueue<>();
  private volatile boolean changed;
  /** How many of the next batches an ask waits for. */
  private volatile int urgent;
  private final AtomicLong written = new AtomicLong();
  private final EngineClock clock;

  public PendingEvents(EngineClock clock) {
    this.clock = clock;
  }

  public long now() {
    return clock.nowMs();
  }

  public EngineClock clock() {
    return clock;
  }

  public void add(Event event) {
    events.add(event);
    written.incrementAndGet();
  }

  /** Notes that asks or a blacklist changed. */
  public void changed() {
    changed = true;
    urgent = URGENT_BATCHES;
    written.incrementAndGet();
  }

  /** Returns how many events there have been so far, including those that were sent. */
  public long written() {
    return written.get();
  }

  public boolean isEmpty() {
    return events.isEmpty() && !changed;
  }

  /**
   * Returns whether an ask may wait for the next batch. One that earlier batches did not serve
   * waits for room or by a rule: what happens then is not urgent.
   */
  public boolean isUrgent() {
    return urgent > 0;
  }

  public void clear() {
    events.clear();
    changed = false;
    urgent = 0;
  }

  /** Moves the events to a batch, in order; asks and blacklists follow them. */
  public void moveTo(Records out) {
    for (Event event = events.poll(); event != null; event = events.poll()) {
      out.add(event);
    }
    changed = false;
    urgent = Math.max(0, urgent - 1);
  }
}
