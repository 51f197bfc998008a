package org.loomcard.yarn.wire;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What the policy has not been sent. Events wait in the order in which they happened; of asks and
 * blacklists only that some changed is noted, since they are read when the batch is closed.
 *
 * <p>Written by YARN's threads while they hold the scheduler's lock, for reading or writing;
 * emptied by the round thread, which holds it for writing: so a batch never sees half of a change.
 */
public final class PendingEvents {
  /** A record that is written when the batch has been closed. */
  public interface Event {
    void write(BatchWriter out);
  }

  private final Queue<Event> events = new ConcurrentLinkedQueue<>();
  private volatile boolean changed;
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

  /** Asks or a blacklist changed. */
  public void changed() {
    changed = true;
    written.incrementAndGet();
  }

  /** How many events there have been so far, with those that were sent. */
  public long written() {
    return written.get();
  }

  public boolean isEmpty() {
    return events.isEmpty() && !changed;
  }

  public void clear() {
    events.clear();
    changed = false;
  }

  /** Moves the events to a batch, in order; asks and blacklists follow them. */
  public void moveTo(Records out) {
    for (Event event = events.poll(); event != null; event = events.poll()) {
      out.add(event);
    }
    changed = false;
  }
}
