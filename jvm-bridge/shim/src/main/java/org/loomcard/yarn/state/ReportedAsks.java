package org.loomcard.yarn.state;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.amounts.Amounts;
import org.loomcard.yarn.facts.AskKey;
import org.loomcard.yarn.hadoop.HadoopCompat;
import org.loomcard.yarn.wire.AskRecord;
import org.loomcard.yarn.wire.BatchWriter;

/** What the policy knows of one attempt's asks and blacklist, and what it must be sent again. */
public final class ReportedAsks {
  private final LoomcardAttempt attempt;
  private final ClusterState cluster;
  private final Set<SchedulerRequestKey> changed = ConcurrentHashMap.newKeySet();
  /** The outstanding asks that the policy knows; guarded by the scheduler's write lock. */
  private final Map<AskKey, SchedulerRequestKey> reported = new HashMap<>();
  private volatile boolean blacklistChanged;

  ReportedAsks(LoomcardAttempt attempt, ClusterState cluster) {
    this.attempt = attempt;
    this.cluster = cluster;
  }

  /** This ask is about to change; the caller says when it has. */
  void note(SchedulerRequestKey key) {
    changed.add(key);
  }

  /** This ask has changed: the policy must be sent it, and a round is wanted. */
  public void changed(SchedulerRequestKey key) {
    changed.add(key);
    cluster.changed(attempt);
  }

  /** The next batch sends this ask again; that alone is no reason for a round. */
  public void sendAgain(SchedulerRequestKey key) {
    changed.add(key);
    cluster.touched(attempt);
  }

  /** Nothing of this ask is outstanding, and the policy knows it. */
  public void forget(SchedulerRequestKey key) {
    reported.remove(AskKey.of(key));
  }

  void blacklistChanged() {
    blacklistChanged = true;
    cluster.changed(attempt);
  }

  /** YARN's key of an ask that the policy knows, or null. Under the scheduler's write lock. */
  public SchedulerRequestKey key(int priority, long allocationRequestId) {
    return reported.get(new AskKey(priority, allocationRequestId));
  }

  /** Writes the asks that changed, and the blacklist if it did. */
  void writeChanges(BatchWriter out) {
    for (SchedulerRequestKey key : changed) {
      changed.remove(key);
      write(out, key);
    }
    if (blacklistChanged) {
      blacklistChanged = false;
      out.blacklist(out.nowMs(), attempt.number(), attempt.blacklist());
    }
  }

  /** Writes all outstanding asks, and the blacklist if it names anything. */
  void writeAll(BatchWriter out) {
    changed.clear();
    blacklistChanged = false;
    for (SchedulerRequestKey key : attempt.getSchedulerKeys()) {
      write(out, key);
    }
    Set<String> names = attempt.blacklist();
    if (!names.isEmpty()) {
      out.blacklist(out.nowMs(), attempt.number(), names);
    }
  }

  /** A change of a running container is no ask: the policy does not decide it. */
  private void write(BatchWriter out, SchedulerRequestKey key) {
    if (key.getContainerToUpdate() == null) {
      out.ask(out.nowMs(), record(key));
    }
  }

  private AskRecord record(SchedulerRequestKey key) {
    Map<String, ResourceRequest> rows = HadoopCompat.rows(attempt, key);
    ResourceRequest any = rows.get(ResourceRequest.ANY);
    int priority = key.getPriority().getPriority();
    if (any == null || any.getNumContainers() <= 0) {
      reported.remove(AskKey.of(key));
      return new AskRecord(attempt.number(), priority, key.getAllocationRequestId(), false,
          new long[Amounts.names().length], 0, new AskRecord.Rows(), true, "");
    }
    reported.put(AskKey.of(key), key);
    String label = any.getNodeLabelExpression();
    return new AskRecord(attempt.number(), priority, key.getAllocationRequestId(),
        attempt.isAmAsk(), Amounts.of(any.getCapability()), any.getNumContainers(),
        AskRows.hostsAndRacks(rows), any.getRelaxLocality(), label == null ? "" : label);
  }
}
