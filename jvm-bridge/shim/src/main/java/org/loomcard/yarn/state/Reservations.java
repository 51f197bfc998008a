package org.loomcard.yarn.state;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.queues.ReasonCodes;
import org.loomcard.yarn.wire.Records;
import org.loomcard.yarn.wire.ReservationRecord;

/**
 * All reservations. For one ask of an application at a time, at most one per node, and for a queue
 * no more than its limit. Changed under the scheduler's write lock; read by any thread.
 */
public final class Reservations {
  private static final Comparator<Reservation> BY_ASK = Comparator
      .<Reservation>comparingInt(each -> each.attempt.number())
      .thenComparingInt(Reservation::priority)
      .thenComparingLong(Reservation::allocationRequestId);
  /** Orders the earliest placed first. */
  private static final Comparator<Reservation> BY_PLACING = Comparator
      .<Reservation>comparingLong(each -> each.placedMs)
      .thenComparingInt(each -> each.node.number());
  private final ClusterState cluster;
  /** Each list is for one ask, by placing; it is never changed and never empty. */
  private final Map<LoomcardApplication, List<Reservation>> byApplication =
      new ConcurrentHashMap<>();
  /** Whether the policy's mirror may have different reservations. */
  private boolean unreported;

  Reservations(ClusterState cluster) {
    this.cluster = cluster;
  }

  /** All of them, by ask and then by placing. */
  public List<Reservation> all() {
    List<Reservation> all = inAnyOrder();
    all.sort(BY_ASK.thenComparing(BY_PLACING));
    return all;
  }

  private List<Reservation> inAnyOrder() {
    List<Reservation> all = new ArrayList<>();
    byApplication.values().forEach(all::addAll);
    return all;
  }

  private List<Reservation> of(LoomcardApplication application) {
    return byApplication.getOrDefault(application, Collections.emptyList());
  }

  /**
   * Returns null when room may be reserved on the node for this ask, otherwise the reason code. The
   * caller has checked what depends on ask, node and queue limits alone.
   */
  public String refusal(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node,
      long[] size) {
    long now = cluster.events().now();
    Reservation there = node.reservation();
    if (there != null && !there.isFor(attempt, key) && !there.isOver(now)) {
      return ReasonCodes.NODE_RESERVED;
    }
    List<Reservation> mine = of(attempt.application());
    for (Reservation reservation : mine) {
      if (!reservation.isFor(attempt, key) && !reservation.isOver(now)) {
        return ReasonCodes.RESERVATION_LIMIT;
      }
    }
    Reservation oldest = inTheWay(mine, attempt, node);
    for (LoomcardQueue queue = attempt.loomcardQueue(); queue != null; queue = queue.parent()) {
      if (!hasRoom(queue, size, oldest, now)) {
        return ReasonCodes.RESERVATION_LIMIT;
      }
    }
    return null;
  }

  /**
   * Returns the reservation of an ask that a new one on {@code node} would replace; null for none.
   */
  private static Reservation inTheWay(List<Reservation> mine, LoomcardAttempt attempt,
      LoomcardNode node) {
    for (Reservation reservation : mine) {
      if (reservation.node == node) {
        return reservation;
      }
    }
    return !mine.isEmpty() && mine.size() >= attempt.loomcardQueue().reservationNodes()
        ? mine.get(0) : null;
  }

  /** Returns whether a queue may have another reservation; the first is always allowed. */
  private boolean hasRoom(LoomcardQueue queue, long[] size, Reservation replaced, long now) {
    long[] limit = queue.reservationLimit();
    if (Amounts.isZero(limit)) {
      return false;
    }
    long[] reserved = new long[size.length];
    boolean any = false;
    for (Reservation reservation : inAnyOrder()) {
      if (reservation != replaced && reservation.attempt.loomcardQueue().isWithin(queue)
          && !reservation.isOver(now)) {
        Amounts.add(reserved, reservation.size());
        any = true;
      }
    }
    return !any || Amounts.fits(reserved, size, limit);
  }

  /**
   * Reserves room on the node, after {@link #refusal} returned null. If the ask has its maximum of
   * reservations already, the one that was placed first ends.
   */
  public void put(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node, long[] size,
      Long untilMs) {
    long now = cluster.events().now();
    long since = now;
    for (Reservation mine : of(attempt.application())) {
      if (mine.isFor(attempt, key) && !mine.isOver(now)) {
        since = mine.sinceMs;
      } else {
        end(mine);
      }
    }
    Reservation before = inTheWay(of(attempt.application()), attempt, node);
    if (before != null) {
      end(before);
    }
    if (node.reservation() != null) {
      end(node.reservation());
    }
    Reservation reservation = new Reservation(attempt, key, node, size, untilMs, since, now);
    List<Reservation> more = new ArrayList<>(of(attempt.application()));
    more.add(reservation);
    more.sort(BY_PLACING);
    byApplication.put(attempt.application(), more);
    node.keep(reservation);
    reservation.countIn(attempt.loomcardQueue());
    unreported = true;
  }

  /** Removes the reservations of an ask; returns whether it had one. */
  public boolean unreserve(LoomcardAttempt attempt, SchedulerRequestKey key) {
    List<Reservation> mine = of(attempt.application());
    if (mine.isEmpty() || !mine.get(0).isFor(attempt, key)) {
      return false;
    }
    mine.forEach(this::end);
    return true;
  }

  private void end(Reservation reservation) {
    List<Reservation> left = new ArrayList<>(of(reservation.attempt.application()));
    left.remove(reservation);
    if (left.isEmpty()) {
      byApplication.remove(reservation.attempt.application());
    } else {
      byApplication.put(reservation.attempt.application(), left);
    }
    reservation.countIn(null);
    if (reservation.node.reservation() == reservation) {
      reservation.node.keep(null);
    }
    unreported = true;
  }

  /** Ends the reservation that a container of this ask, placed on the node, has used. */
  public void allocated(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node) {
    Reservation reservation = node.reservation();
    if (reservation != null && reservation.isFor(attempt, key)) {
      end(reservation);
    }
  }

  /** Removes all: another configuration is in force. */
  public void clear() {
    inAnyOrder().forEach(this::end);
  }

  /**
   * Notes that part of a plan was refused: the mirror may have other reservations, if there are
   * any.
   */
  public void refused(boolean aReservation) {
    unreported |= aReservation || !byApplication.isEmpty();
  }

  /** Moves an application's reservations to its new queue. */
  void moved(LoomcardApplication application) {
    of(application).forEach(reservation -> reservation.countIn(application.queue()));
  }

  /** Removes the reservations that have ended. */
  public void sweep() {
    long now = cluster.events().now();
    for (Reservation reservation : inAnyOrder()) {
      if (cluster.node(reservation.node.number()) != reservation.node || reservation.isOver(now)) {
        end(reservation);
      }
    }
  }

  /** Writes the whole list if the mirror may have a different one. */
  void writeTo(Records out) {
    sweep();
    if (unreported) {
      unreported = false;
      write(out);
    }
  }

  /** Writes the whole list into a snapshot, which begins with none. */
  void writeSnapshot(Records out) {
    sweep();
    unreported = false;
    if (!byApplication.isEmpty()) {
      write(out);
    }
  }

  private void write(Records out) {
    List<ReservationRecord> texts = new ArrayList<>();
    for (Reservation reservation : all()) {
      texts.add(new ReservationRecord(reservation.attempt.number(), reservation.priority(),
          reservation.allocationRequestId(), reservation.node.number(), reservation.untilMs,
          reservation.sinceMs, reservation.placedMs));
    }
    out.add(batch -> batch.reservations(out.nowMs(), texts));
  }
}
