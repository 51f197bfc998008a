package org.loomcard.yarn.state;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.amounts.Amounts;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.queues.ReasonCodes;
import org.loomcard.yarn.wire.HoldRecord;
import org.loomcard.yarn.wire.Records;

/**
 * All holds: for one ask of an application, at most one a node, and of a queue no more than its
 * part. Changed under the scheduler's write lock; read by any thread.
 */
public final class Holds {
  private static final Comparator<Hold> BY_ASK = Comparator
      .<Hold>comparingInt(hold -> hold.attempt.number()).thenComparingInt(Hold::priority)
      .thenComparingLong(Hold::allocationRequestId);
  /** The one that was placed first comes first. */
  private static final Comparator<Hold> BY_PLACING = Comparator
      .<Hold>comparingLong(hold -> hold.placedMs).thenComparingInt(hold -> hold.node.number());
  private final ClusterState cluster;
  /** Each list is never changed, never empty, of one ask, and by placing. */
  private final Map<LoomcardApplication, List<Hold>> byApplication = new ConcurrentHashMap<>();
  /** Whether the policy's mirror may have other holds. */
  private boolean unreported;

  Holds(ClusterState cluster) {
    this.cluster = cluster;
  }

  /** All of them, by ask and then by placing. */
  public List<Hold> all() {
    List<Hold> all = inAnyOrder();
    all.sort(BY_ASK.thenComparing(BY_PLACING));
    return all;
  }

  private List<Hold> inAnyOrder() {
    List<Hold> all = new ArrayList<>();
    byApplication.values().forEach(all::addAll);
    return all;
  }

  private List<Hold> of(LoomcardApplication application) {
    return byApplication.getOrDefault(application, Collections.emptyList());
  }

  /**
   * Null when room may be kept on the node for this ask, else the reason code; what concerns ask,
   * node and queue limits alone has been checked.
   */
  public String refusal(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node,
      long[] size) {
    long now = cluster.events().now();
    Hold there = node.hold();
    if (there != null && !there.isFor(attempt, key) && !there.isOver(now)) {
      return ReasonCodes.HELD;
    }
    List<Hold> mine = of(attempt.application());
    for (Hold hold : mine) {
      if (!hold.isFor(attempt, key) && !hold.isOver(now)) {
        return ReasonCodes.HOLD_LIMIT;
      }
    }
    Hold oldest = inTheWay(mine, attempt, node);
    for (LoomcardQueue queue = attempt.loomcardQueue(); queue != null; queue = queue.parent()) {
      if (!hasRoom(queue, size, oldest, now)) {
        return ReasonCodes.HOLD_LIMIT;
      }
    }
    return null;
  }

  /** Which of an ask's holds another one, on {@code node}, would replace; null for none. */
  private static Hold inTheWay(List<Hold> mine, LoomcardAttempt attempt, LoomcardNode node) {
    for (Hold hold : mine) {
      if (hold.node == node) {
        return hold;
      }
    }
    return !mine.isEmpty() && mine.size() >= attempt.loomcardQueue().holdNodes()
        ? mine.get(0) : null;
  }

  /** Whether a queue may have another hold; the first is always allowed. */
  private boolean hasRoom(LoomcardQueue queue, long[] size, Hold replaced, long now) {
    long[] limit = queue.holdLimit();
    if (Amounts.isZero(limit)) {
      return false;
    }
    long[] held = new long[size.length];
    boolean any = false;
    for (Hold hold : inAnyOrder()) {
      if (hold != replaced && hold.attempt.loomcardQueue().isWithin(queue) && !hold.isOver(now)) {
        Amounts.add(held, hold.size());
        any = true;
      }
    }
    return !any || Amounts.fits(held, size, limit);
  }

  /**
   * Keeps room on the node, after {@link #refusal} let it pass. Where the ask has as many holds as
   * it may have, the one that was placed first ends.
   */
  public void put(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node, long[] size,
      Long untilMs) {
    long now = cluster.events().now();
    long since = now;
    for (Hold mine : of(attempt.application())) {
      if (mine.isFor(attempt, key) && !mine.isOver(now)) {
        since = mine.sinceMs;
      } else {
        end(mine);
      }
    }
    Hold before = inTheWay(of(attempt.application()), attempt, node);
    if (before != null) {
      end(before);
    }
    if (node.hold() != null) {
      end(node.hold());
    }
    Hold hold = new Hold(attempt, key, node, size, untilMs, since, now);
    List<Hold> more = new ArrayList<>(of(attempt.application()));
    more.add(hold);
    more.sort(BY_PLACING);
    byApplication.put(attempt.application(), more);
    node.keep(hold);
    hold.countIn(attempt.loomcardQueue());
    unreported = true;
  }

  /** Gives up the holds of an ask; whether it had one. */
  public boolean release(LoomcardAttempt attempt, SchedulerRequestKey key) {
    List<Hold> mine = of(attempt.application());
    if (mine.isEmpty() || !mine.get(0).isFor(attempt, key)) {
      return false;
    }
    mine.forEach(this::end);
    return true;
  }

  private void end(Hold hold) {
    List<Hold> left = new ArrayList<>(of(hold.attempt.application()));
    left.remove(hold);
    if (left.isEmpty()) {
      byApplication.remove(hold.attempt.application());
    } else {
      byApplication.put(hold.attempt.application(), left);
    }
    hold.countIn(null);
    if (hold.node.hold() == hold) {
      hold.node.keep(null);
    }
    unreported = true;
  }

  /** A container of this ask was placed on the node: what was kept for it there is used. */
  public void granted(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node) {
    Hold hold = node.hold();
    if (hold != null && hold.isFor(attempt, key)) {
      end(hold);
    }
  }

  /** Another configuration governs. */
  public void clear() {
    inAnyOrder().forEach(this::end);
  }

  /** Something of a plan was refused: the mirror may have other holds, if there are any. */
  public void refused(boolean aHold) {
    unreported |= aHold || !byApplication.isEmpty();
  }

  /** An application is in another queue: its holds go with it. */
  void moved(LoomcardApplication application) {
    of(application).forEach(hold -> hold.countIn(application.queue()));
  }

  /** Ends those that are over. */
  public void sweep() {
    long now = cluster.events().now();
    for (Hold hold : inAnyOrder()) {
      if (cluster.node(hold.node.number()) != hold.node || hold.isOver(now)) {
        end(hold);
      }
    }
  }

  /** Writes the whole list where the mirror may have another. */
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
    List<HoldRecord> texts = new ArrayList<>();
    for (Hold hold : all()) {
      texts.add(new HoldRecord(hold.attempt.number(), hold.priority(),
          hold.allocationRequestId(), hold.node.number(), hold.untilMs, hold.sinceMs,
          hold.placedMs));
    }
    out.add(batch -> batch.holds(out.nowMs(), texts));
  }
}
