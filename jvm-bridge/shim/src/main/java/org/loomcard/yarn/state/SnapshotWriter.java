package org.loomcard.yarn.state;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.wire.ContainerRecord;
import org.loomcard.yarn.wire.Records;

/** Writes the cluster state, except asks, as the records that rebuild it from nothing. */
final class SnapshotWriter {
  private SnapshotWriter() {
  }

  /** Returns what the containers that were written leave free on the nodes that were written. */
  static long[] write(ClusterState cluster, Records out) {
    long at = out.nowMs();
    long[] free = new long[Amounts.names().length];
    for (LoomcardNode node : cluster.nodes()) {
      long[] capacity = Amounts.of(node.getTotalResource());
      Amounts.add(free, capacity);
      out.add(ClusterState.added(at, node, capacity));
    }
    List<ContainerRecord> containers = new ArrayList<>();
    Map<LoomcardApplication, Set<Integer>> past = new HashMap<>();
    for (ContainerEntry entry : cluster.containers()) {
      containers.add(entry.text());
      Amounts.add(free, Amounts.negative(entry.size()));
      if (entry.isPast()) {
        past.computeIfAbsent(entry.application, key -> new TreeSet<>()).add(entry.ordinal());
      }
    }
    for (LoomcardApplication application : cluster.applications()) {
      out.add(application.added(at));
      LoomcardAttempt attempt = application.attempt();
      if (attempt != null) {
        for (int ordinal : past.getOrDefault(application, Collections.<Integer>emptySet())) {
          out.add(batch -> ClusterState.writePastAttempt(batch, at, application, ordinal));
        }
        writeAttempt(out, at, attempt);
      }
    }
    out.add(batch -> {
      containers.sort((one, other) -> Long.compare(one.container, other.container));
      containers.forEach(container -> batch.containerAdded(at, container));
    });
    return free;
  }

  /** Writes an attempt, also one that ended: its containers may continue. */
  private static void writeAttempt(Records out, long at, LoomcardAttempt attempt) {
    boolean registered = attempt.isRegistered();
    boolean stopped = attempt.isStopped();
    out.add(batch -> {
      ClusterState.writeAttempt(batch, at, attempt);
      if (registered) {
        batch.attemptRegistered(at, attempt.number());
      }
      if (stopped) {
        batch.attemptRemoved(at, attempt.number(), "");
      }
    });
  }
}
