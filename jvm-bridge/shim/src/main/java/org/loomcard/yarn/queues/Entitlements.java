package org.loomcard.yarn.queues;

import java.util.ArrayList;
import java.util.List;

/**
 * What each queue is entitled to now, as shown to people. It follows the rule by which the policy
 * process divides the cluster among queues (api/entitlement.py). For every parent and resource
 * type, the children get first what they are guaranteed, as far as they want it. Then the rest is
 * divided by weight, up to what they want. What no queue wants is divided by weight up to their
 * maxima.
 */
public final class Entitlements {
  private final double[] weights;
  private final long[][] guaranteed;
  private final long[][] maximum;
  private final long[][] wanted;
  private final List<List<Integer>> children = new ArrayList<>();

  /**
   * Creates it with one row per queue, in the order of the policy configuration: each parent stands
   * before its children.
   *
   * @param parents the row of each queue's parent; -1 for the root
   * @param wanted what the queue and those below it use and ask for
   */
  public Entitlements(int[] parents, double[] weights, long[][] guaranteed, long[][] maximum,
      long[][] wanted) {
    this.weights = weights.clone();
    this.guaranteed = guaranteed.clone();
    this.maximum = maximum.clone();
    this.wanted = wanted.clone();
    for (int queue = 0; queue < parents.length; queue++) {
      children.add(new ArrayList<>());
      if (parents[queue] >= 0) {
        children.get(parents[queue]).add(queue);
      }
    }
  }

  /** Returns the entitlements on a cluster of this capacity, one row per queue. */
  public long[][] of(long[] capacity) {
    long[][] found = new long[weights.length][capacity.length];
    found[0] = capacity.clone();
    for (int parent = 0; parent < found.length; parent++) {
      for (int type = 0; type < capacity.length; type++) {
        divide(children.get(parent), type, found[parent][type], found);
      }
    }
    return found;
  }

  private void divide(List<Integer> queues, int type, long whole, long[][] found) {
    int count = queues.size();
    long[] most = new long[count];
    long[] demand = new long[count];
    long[] parts = new long[count];
    long rest = whole;
    for (int i = 0; i < count; i++) {
      int queue = queues.get(i);
      most[i] = Math.min(maximum[queue][type], whole);
      demand[i] = Math.min(wanted[queue][type], most[i]);
      parts[i] = Math.min(guaranteed[queue][type], demand[i]);
      rest -= parts[i];
    }
    rest = pour(rest, parts, demand, queues);
    pour(rest, parts, most, queues);
    for (int i = 0; i < count; i++) {
      found[queues.get(i)][type] = parts[i];
    }
  }

  /** Raises the parts by weight until the rest is used up, or each part has reached its ceiling. */
  private long pour(long amount, long[] parts, long[] ceiling, List<Integer> queues) {
    long rest = amount;
    while (rest > 0) {
      List<Integer> open = new ArrayList<>();
      double total = 0;
      for (int i = 0; i < parts.length; i++) {
        if (parts[i] < ceiling[i]) {
          open.add(i);
          total += weights[queues.get(i)];
        }
      }
      if (open.isEmpty()) {
        return rest;
      }
      long before = rest;
      for (int i : open) {
        long part = Math.min((long) (before * weights[queues.get(i)] / total),
            ceiling[i] - parts[i]);
        parts[i] += part;
        rest -= part;
      }
      if (rest == before) { // fewer units than queues: one each, in order
        for (int i : open.subList(0, (int) Math.min(open.size(), rest))) {
          parts[i]++;
          rest--;
        }
      }
    }
    return rest;
  }
}
