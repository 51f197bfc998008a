package org.loomcard.yarn.wire;

import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What the policy has not been sent. Events wait in the order in which they happened; of asks and
 * blacklists only which attempts changed is noted, since they are read when the batch is closed.
 *
 * <p>Written by YARN's threads while they hold the scheduler's lock, for reading or writing;
 * emptied by the round thread, which holds it for writing: so a batch never sees half of a change.
 */
public final class PendingEvents {
  /** A record that is written when the batch is closed. */
  public interface Event {
    void write(BatchWriter out);
  }

  /** Something whose present state is written when the batch is closed. */
  public interface Changed {
    void writeChanges(BatchWriter out);
  }

  private final Queue<Event> events = new ConcurrentLinkedQueue<>();
  private final Set<Changed> changed = ConcurrentHashMap.newKeySet();
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

  /** Asks or the blacklist of {@code source} changed. */
  public void changed(Changed source) {
    changed.add(source);
    written.incrementAndGet();
  }

  /** How many events there have been so far, with those that were sent. */
  public long written() {
    return written.get();
  }

  public boolean isEmpty() {
    return events.isEmpty() && changed.isEmpty();
  }

  public void clear() {
    events.clear();
    changed.clear();
  }

  /** Writes the events in order, then the asks and blacklists as they stand now. */
  public void writeTo(BatchWriter out) {
    for (Event event = events.poll(); event != null; event = events.poll()) {
      event.write(out);
    }
    for (Changed source : changed) {
      changed.remove(source);
      source.writeChanges(out);
    }
  }
}
