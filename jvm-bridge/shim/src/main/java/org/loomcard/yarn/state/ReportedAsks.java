package org.loomcard.yarn.state;

import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.wire.AskRecord;
import org.loomcard.yarn.wire.Records;

/** What the policy knows of one attempt's asks and blacklist, and what must be sent to it again. */
public final class ReportedAsks {
  private final LoomcardAttempt attempt;
  private final ClusterState cluster;
  private final Set<SchedulerRequestKey> changed = ConcurrentHashMap.newKeySet();
  /** The outstanding asks that the policy knows; guarded by the scheduler's write lock. */
  private final Map<AskKey, Known> reported = new HashMap<>();
  /** How many containers of them it counts as outstanding; guarded likewise. */
  private long pending;
  private volatile boolean blacklistChanged;

  ReportedAsks(LoomcardAttempt attempt, ClusterState cluster) {
    this.attempt = attempt;
    this.cluster = cluster;
  }

  /** Notes that this ask is about to change; the caller says when it has changed. */
  void note(SchedulerRequestKey key) {
    changed.add(key);
  }

  /** Notes that this ask has changed: it must be sent to the policy, and a round is wanted. */
  public void changed(SchedulerRequestKey key) {
    changed.add(key);
    cluster.changed(attempt);
  }

  /** Makes the next batch send this ask again; that alone is no reason for a round. */
  public void sendAgain(SchedulerRequestKey key) {
    changed.add(key);
    cluster.touched(attempt);
  }

  /**
   * Counts a container of this ask that a plan allocated; returns how many fewer are outstanding.
   */
  int allocated(SchedulerRequestKey key) {
    Known known = reported.get(AskKey.of(key));
    if (known == null) {
      return 0;
    }
    known.count--;
    pending--;
    return 1;
  }

  /**
   * Forgets an ask of which nothing is outstanding; the policy knows that, or is about to be sent
   * it.
   */
  public void forget(SchedulerRequestKey key) {
    Known known = reported.get(AskKey.of(key));
    if (known != null && known.count == 0) {
      reported.remove(AskKey.of(key));
    }
  }

  /** Returns the outstanding containers of all asks, as the policy counts them. */
  long pending() {
    return pending;
  }

  void blacklistChanged() {
    blacklistChanged = true;
    cluster.changed(attempt);
  }

  /** Returns YARN's key of an ask that the policy knows, or null. Call it under the write lock. */
  public SchedulerRequestKey key(int priority, long allocationRequestId) {
    Known known = reported.get(new AskKey(priority, allocationRequestId));
    return known == null ? null : known.key;
  }

  /** Marks everything to be sent: the policy has forgotten all of it. */
  void sendAll() {
    reported.clear();
    pending = 0;
    changed.clear();
    changed.addAll(attempt.getSchedulerKeys());
    blacklistChanged = !attempt.blacklist().isEmpty();
  }

  /** Forgets what is to be sent: all will be, with what {@link #sendAll} finds then. */
  void clear() {
    changed.clear();
  }

  /** Returns whether the policy knows everything in its present state. */
  boolean isSent() {
    return changed.isEmpty() && !blacklistChanged;
  }

  /**
   * Writes the blacklist if it changed, and those changed asks that fit into {@code most} rows, at
   * least one; returns the rows. A change of a running container is not an ask for the policy: the
   * policy does not decide it.
   */
  int write(Records out, int most) {
    int rows = 0;
    if (blacklistChanged) {
      blacklistChanged = false;
      Collection<String> names = attempt.blacklist();
      out.add(batch -> batch.blacklist(out.nowMs(), attempt.number(), names));
      rows += AskRows.weight(names);
    }
    for (Iterator<SchedulerRequestKey> keys = changed.iterator(); rows < most && keys.hasNext();) {
      SchedulerRequestKey key = keys.next();
      keys.remove();
      if (key.getContainerToUpdate() == null) {
        AskRecord record = record(key);
        out.add(batch -> batch.ask(out.nowMs(), record));
        rows += 1 + AskRows.weight(record.hosts.keySet()) + AskRows.weight(record.racks.keySet());
      }
    }
    return rows;
  }

  private AskRecord record(SchedulerRequestKey key) {
    Map<String, ResourceRequest> rows = HadoopCalls.rows(attempt, key);
    ResourceRequest any = rows.get(ResourceRequest.ANY);
    int priority = key.getPriority().getPriority();
    Known before = reported.remove(AskKey.of(key));
    pending -= before == null ? 0 : before.count;
    if (any == null || any.getNumContainers() <= 0) {
      return new AskRecord(attempt.number(), priority, key.getAllocationRequestId(), false,
          new long[Amounts.names().length], 0, new AskRecord.Rows(), true, "");
    }
    reported.put(AskKey.of(key), new Known(key, any.getNumContainers()));
    pending += any.getNumContainers();
    String label = any.getNodeLabelExpression();
    return new AskRecord(attempt.number(), priority, key.getAllocationRequestId(),
        attempt.isAmAsk(), Amounts.of(any.getCapability()), any.getNumContainers(),
        AskRows.hostsAndRacks(rows), any.getRelaxLocality(), label == null ? "" : label);
  }

  /** An ask as the policy knows it. */
  private static final class Known {
    private final SchedulerRequestKey key;
    private int count;

    private Known(SchedulerRequestKey key, int count) {
      this.key = key;
      this.count = count;
    }
  }

  /** What the wire calls an ask of an attempt; a value. */
  private static final class AskKey {
    private final int priority;
    private final long allocationRequestId;

    private AskKey(int priority, long allocationRequestId) {
      this.priority = priority;
      this.allocationRequestId = allocationRequestId;
    }

    private static AskKey of(SchedulerRequestKey key) {
      return new AskKey(key.getPriority().getPriority(), key.getAllocationRequestId());
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof AskKey && ((AskKey) other).priority == priority
          && ((AskKey) other).allocationRequestId == allocationRequestId;
    }

    @Override
    public int hashCode() {
      return 31 * priority + Long.hashCode(allocationRequestId);
    }
  }
}
