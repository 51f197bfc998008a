package org.loomcard.yarn.books;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.bridge.BatchWriter;
import org.loomcard.yarn.bridge.HoldText;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.queues.Reasons;

/**
 * All holds: at most one an application, at most one a node, and of a queue no more than its part.
 * Changed under the scheduler's write lock; read by anybody.
 */
public final class Holds {
  private static final Comparator<Hold> BY_ASK = Comparator
      .<Hold>comparingInt(hold -> hold.attempt.number()).thenComparingInt(Hold::priority)
      .thenComparingLong(Hold::allocationRequestId);
  private final Ledger ledger;
  private final Map<LoomcardApplication, Hold> byApplication = new ConcurrentHashMap<>();
  /** Whether the policy's mirror may have other holds. */
  private boolean untold;

  Holds(Ledger ledger) {
    this.ledger = ledger;
  }

  /** All of them, by ask. */
  public List<Hold> all() {
    List<Hold> all = new ArrayList<>(byApplication.values());
    all.sort(BY_ASK);
    return all;
  }

  /**
   * Null when room may be kept on the node for this ask, else the reason code; what concerns ask,
   * node and queue limits alone has been checked.
   */
  public String refusal(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node,
      long[] size) {
    long now = ledger.news().now();
    Hold there = node.hold();
    if (there != null && !there.isFor(attempt, key) && !there.isOver(now)) {
      return Reasons.HELD;
    }
    Hold mine = byApplication.get(attempt.application());
    boolean moves = mine != null && mine.isFor(attempt, key);
    if (mine != null && !moves && !mine.isOver(now)) {
      return Reasons.HOLD_LIMIT;
    }
    for (LoomcardQueue queue = attempt.loomcardQueue(); queue != null; queue = queue.parent()) {
      if (!hasRoom(queue, size, mine, now)) {
        return Reasons.HOLD_LIMIT;
      }
    }
    return null;
  }

  /** Whether a queue may have another hold; the first is always let in. */
  private boolean hasRoom(LoomcardQueue queue, long[] size, Hold mine, long now) {
    long[] limit = queue.holdLimit();
    if (Amounts.isZero(limit)) {
      return false;
    }
    long[] held = new long[size.length];
    boolean any = false;
    for (Hold hold : byApplication.values()) {
      if (hold != mine && hold.attempt.loomcardQueue().isWithin(queue) && !hold.isOver(now)) {
        Amounts.add(held, hold.size());
        any = true;
      }
    }
    return !any || Amounts.fits(held, size, limit);
  }

  /** Keeps room on the node, after {@link #refusal} let it pass; the ask's hold elsewhere ends. */
  public void put(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node, long[] size,
      Long untilMs) {
    long now = ledger.news().now();
    Hold before = byApplication.get(attempt.application());
    long since = before != null && before.isFor(attempt, key) ? before.sinceMs : now;
    if (before != null) {
      end(before);
    }
    if (node.hold() != null) {
      end(node.hold());
    }
    Hold hold = new Hold(attempt, key, node, size, untilMs, since, now);
    byApplication.put(attempt.application(), hold);
    node.keep(hold);
    hold.countIn(attempt.loomcardQueue());
    untold = true;
  }

  /** Gives up the hold of an ask; whether it had one. */
  public boolean release(LoomcardAttempt attempt, SchedulerRequestKey key) {
    Hold hold = byApplication.get(attempt.application());
    if (hold == null || !hold.isFor(attempt, key)) {
      return false;
    }
    end(hold);
    return true;
  }

  private void end(Hold hold) {
    byApplication.remove(hold.attempt.application(), hold);
    hold.countIn(null);
    if (hold.node.hold() == hold) {
      hold.node.keep(null);
    }
    untold = true;
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
    byApplication.values().forEach(this::end);
  }

  /** Something of a plan was refused: the mirror may have other holds, if there are any. */
  public void refused(boolean aHold) {
    untold |= aHold || !byApplication.isEmpty();
  }

  /** An application is in another queue: its hold goes with it. */
  void moved(LoomcardApplication application) {
    Hold hold = byApplication.get(application);
    if (hold != null) {
      hold.countIn(application.queue());
    }
  }

  /** Ends those that are over. */
  public void sweep() {
    long now = ledger.news().now();
    for (Hold hold : byApplication.values()) {
      if (ledger.node(hold.node.number()) != hold.node || hold.isOver(now)) {
        end(hold);
      }
    }
  }

  /** Writes the whole list where the mirror may have another. */
  void writeTo(BatchWriter out) {
    sweep();
    if (untold) {
      untold = false;
      write(out);
    }
  }

  /** Writes the whole list into a snapshot, which begins with none. */
  void writeSnapshot(BatchWriter out) {
    sweep();
    untold = false;
    if (!byApplication.isEmpty()) {
      write(out);
    }
  }

  private void write(BatchWriter out) {
    List<HoldText> texts = new ArrayList<>();
    for (Hold hold : all()) {
      texts.add(new HoldText(hold.attempt.number(), hold.priority(),
          hold.allocationRequestId(), hold.node.number(), hold.untilMs, hold.sinceMs,
          hold.placedMs));
    }
    out.holds(out.nowMs(), texts);
  }
}
