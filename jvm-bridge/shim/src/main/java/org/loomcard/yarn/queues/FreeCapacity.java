package org.loomcard.yarn.queues;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.loomcard.yarn.hadoop.HadoopCompat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is free on all live nodes together, as the nodes themselves count it. Only nodes that
 * changed since the last count are read again.
 */
public final class FreeCapacity<N extends HadoopCompat.Node> {
  private static final Logger LOG = LoggerFactory.getLogger(FreeCapacity.class);
  private final Set<N> changed = ConcurrentHashMap.newKeySet();
  /** What each live node had free when it was last read; guarded by the scheduler's write lock. */
  private final Map<N, long[]> counted = new HashMap<>();
  private long[] total;
  /** What a snapshot's containers leave free beyond what the nodes count; null for nothing. */
  private long[] unexplained;

  /** Notes that a container was placed on the node or left it, or that its capacity changed. */
  public void changed(N node) {
    changed.add(node);
  }

  /** Notes that the node is no longer in the cluster. */
  public void removed(N node) {
    changed.remove(node);
    long[] before = counted.remove(node);
    if (before != null) {
      Amounts.add(total, Amounts.negative(before));
    }
  }

  /**
   * Returns the present sum. The caller holds the scheduler's write lock.
   *
   * @param live whether a node is in the cluster
   */
  public long[] total(Predicate<N> live) {
    if (total == null) {
      total = new long[Amounts.names().length];
    }
    for (N node : changed) {
      changed.remove(node);
      if (live.test(node)) {
        long[] now = Amounts.of(node.getUnallocatedResource());
        long[] before = counted.put(node, now);
        if (before != null) {
          Amounts.add(total, Amounts.negative(before));
        }
        Amounts.add(total, now);
      }
    }
    // A copy: the check is written after the lock was released, when a node may have gone.
    return unexplained == null ? total.clone() : Amounts.sum(total, unexplained);
  }

  /**
   * Takes {@code free}, the sum that a snapshot states. If the nodes count differently, which is a
   * fault of the scheduler's state, that is logged. The difference is then accepted until the next
   * snapshot: the policy's mirror cannot agree with both, and another snapshot would not help.
   */
  public void snapshot(long[] free, Predicate<N> live) {
    unexplained = null;
    long[] difference = Amounts.sum(free, Amounts.negative(total(live)));
    if (!Amounts.isZero(difference)) {
      unexplained = difference;
      LOG.error("The containers that the policy knows leave {} free, the nodes count {} less",
          Arrays.toString(free), Arrays.toString(difference));
    }
  }
}
