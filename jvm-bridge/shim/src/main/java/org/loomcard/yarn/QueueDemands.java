package org.loomcard.yarn;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.Reservation;

/** What the asks that wait, and the rooms reserved for them, come to: by queue and label. */
final class QueueDemands {
  private final Map<LoomcardQueue, Demand> pending = new HashMap<>();
  private final Map<LoomcardQueue, Demand> reserved = new HashMap<>();

  /** An amount in a queue and below it. */
  static final class Demand {
    int containers;
    long[] total = new long[Amounts.names().length];
    private final Map<String, long[]> byLabel = new HashMap<>();

    private void add(String label, int count, long[] amounts) {
      containers += count;
      Amounts.add(total, amounts);
      Amounts.add(byLabel.computeIfAbsent(label, key -> new long[total.length]), amounts);
    }

    long[] on(String label) {
      return byLabel.getOrDefault(label, new long[total.length]);
    }
  }

  QueueDemands(Iterable<LoomcardAttempt> attempts, Iterable<Reservation> reservations) {
    attempts.forEach(this::add);
    for (Reservation each : reservations) {
      add(reserved, each.attempt.application().queue(), each.node.getPartition(), 1, each.size());
    }
  }

  /** Whether an application waits for a container. */
  static boolean waits(LoomcardAttempt attempt) {
    return attempt.getSchedulerKeys().stream()
        .anyMatch(key -> attempt.getOutstandingAsksCount(key) > 0);
  }

  private void add(LoomcardAttempt attempt) {
    for (SchedulerRequestKey key : attempt.getSchedulerKeys()) {
      int count = attempt.getOutstandingAsksCount(key);
      if (count > 0) {
        long[] amounts = Amounts.of(
            attempt.getPendingAsk(key, ResourceRequest.ANY).getPerAllocationResource());
        for (int i = 0; i < amounts.length; i++) {
          amounts[i] *= count;
        }
        ResourceRequest any = HadoopCalls.rows(attempt, key).get(ResourceRequest.ANY);
        String label = any == null ? null : any.getNodeLabelExpression();
        add(pending, attempt.application().queue(), label == null ? "" : label, count, amounts);
      }
    }
  }

  private static void add(Map<LoomcardQueue, Demand> demands, LoomcardQueue leaf, String label,
      int count, long[] amounts) {
    for (LoomcardQueue queue = leaf; queue != null; queue = queue.parent()) {
      demands.computeIfAbsent(queue, key -> new Demand()).add(label, count, amounts);
    }
  }

  Demand pending(LoomcardQueue queue) {
    return pending.getOrDefault(queue, new Demand());
  }

  Demand reserved(LoomcardQueue queue) {
    return reserved.getOrDefault(queue, new Demand());
  }

  /** The labels on which a queue wants something or has something reserved, without "". */
  Set<String> labels(LoomcardQueue queue) {
    Set<String> labels = new TreeSet<>(pending(queue).byLabel.keySet());
    labels.addAll(reserved(queue).byLabel.keySet());
    labels.remove("");
    return labels;
  }
}
