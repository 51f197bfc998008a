package org.loomcard.yarn.state;

import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.loomcard.yarn.amounts.Amounts;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.EngineClock;

/** Everything the cluster state holds, as the records that build it up from nothing. */
final class SnapshotWriter {
  private SnapshotWriter() {
  }

  /** Returns what the containers written leave free on the nodes written. */
  static long[] write(ClusterState cluster, BatchWriter out, EngineClock clock) {
    long at = out.nowMs();
    long[] free = new long[Amounts.names().length];
    for (LoomcardNode node : cluster.nodes()) {
      long[] capacity = Amounts.of(node.getTotalResource());
      Amounts.add(free, capacity);
      ClusterState.writeNode(out, at, node, capacity);
    }
    Collection<ContainerEntry> containers = cluster.containers();
    Map<LoomcardApplication, Set<Integer>> ordinals = ordinals(containers);
    for (LoomcardApplication application : cluster.applications()) {
      application.writeTo(out, at, clock);
      LoomcardAttempt attempt = application.attempt();
      if (attempt != null) {
        writePast(out, at, application, ordinals.getOrDefault(application,
            Collections.<Integer>emptySet()));
        writeAttempt(out, at, attempt);
      }
    }
    for (ContainerEntry entry : containers) {
      out.containerAdded(at, entry.text(clock));
      Amounts.add(free, Amounts.negative(entry.size()));
    }
    for (LoomcardApplication application : cluster.applications()) {
      LoomcardAttempt attempt = application.attempt();
      if (attempt != null && !attempt.isStopped()) {
        attempt.reportedAsks().writeAll(out);
      }
    }
    return free;
  }

  /** Of which attempts each application still has containers. */
  private static Map<LoomcardApplication, Set<Integer>> ordinals(
      Collection<ContainerEntry> containers) {
    Map<LoomcardApplication, Set<Integer>> found = new HashMap<>();
    for (ContainerEntry entry : containers) {
      found.computeIfAbsent(entry.application, key -> new TreeSet<>()).add(entry.ordinal());
    }
    return found;
  }

  /** The attempts before the latest that still have containers. */
  private static void writePast(BatchWriter out, long at, LoomcardApplication application,
      Set<Integer> ordinals) {
    int latest = application.attempt().getApplicationAttemptId().getAttemptId();
    for (int ordinal : ordinals) {
      if (ordinal != latest) {
        ClusterState.writePastAttempt(out, at, application, ordinal);
      }
    }
  }

  /** An ended attempt is introduced too: containers may go on in its name. */
  private static void writeAttempt(BatchWriter out, long at, LoomcardAttempt attempt) {
    ClusterState.writeAttempt(out, at, attempt);
    if (attempt.isRegistered()) {
      out.attemptRegistered(at, attempt.number());
    }
    if (attempt.isStopped()) {
      out.attemptRemoved(at, attempt.number(), "");
    }
  }
}
