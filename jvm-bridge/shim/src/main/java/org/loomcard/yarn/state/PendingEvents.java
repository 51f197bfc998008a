package org.loomcard.yarn.state;

import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.EngineClock;

/**
 * What the policy has not been told. Events wait in the order in which they happened; of asks and
 * blacklists only which attempts changed is noted, since they are read when the batch is closed.
 *
 * <p>Written by YARN's threads while they hold the scheduler's lock, for reading or writing;
 * emptied by the round thread, which holds it for writing: so a batch never sees half of a change.
 */
public final class PendingEvents {
  /** One record to be. */
  interface Event {
    void write(BatchWriter out);
  }

  private final Queue<Event> events = new ConcurrentLinkedQueue<>();
  private final Set<LoomcardAttempt> changed = ConcurrentHashMap.newKeySet();
  private final AtomicLong written = new AtomicLong();
  private final EngineClock clock;

  public PendingEvents(EngineClock clock) {
    this.clock = clock;
  }

  long now() {
    return clock.nowMs();
  }

  EngineClock clock() {
    return clock;
  }

  void add(Event event) {
    events.add(event);
    written.incrementAndGet();
  }

  /** Asks or the blacklist of {@code attempt} changed. */
  void changed(LoomcardAttempt attempt) {
    changed.add(attempt);
    written.incrementAndGet();
  }

  /** How many news there have been so far, with those that were told. */
  public long written() {
    return written.get();
  }

  public boolean isEmpty() {
    return events.isEmpty() && changed.isEmpty();
  }

  void clear() {
    events.clear();
    changed.clear();
  }

  /** Writes the events in order, then the asks and blacklists as they stand now. */
  void writeTo(BatchWriter out) {
    for (Event event = events.poll(); event != null; event = events.poll()) {
      event.write(out);
    }
    for (LoomcardAttempt attempt : changed) {
      changed.remove(attempt);
      attempt.writeChanges(out);
    }
  }
}
