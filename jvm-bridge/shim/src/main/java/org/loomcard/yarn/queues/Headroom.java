package org.loomcard.yarn.queues;

import java.util.Collection;

/** What a queue still leaves to its users, on the nodes of some labels. */
public final class Headroom {
  private Headroom() {
  }

  /**
   * Returns what {@code user} may still use in {@code leaf}, within the maxima along the path, the
   * user's limit and the nodes of these labels; may be negative.
   */
  public static long[] of(LoomcardQueue leaf, String user, Collection<String> labels,
      PartitionCapacities partitions) {
    long[] room = of(leaf, labels, partitions);
    if (leaf.userLimit() != null) {
      Amounts.narrow(room, leaf.userLimit(), leaf.usedBy(user));
    }
    return room;
  }

  /**
   * Returns what a queue does not use of its part of the nodes of one label, as the metrics of
   * CapacityScheduler do: the parts of a level add up to no more than their parent's.
   */
  static long[] unused(String label, LoomcardQueue queue, PartitionCapacities partitions) {
    long[] unused = part(label, queue, partitions.capacity(label));
    Amounts.add(unused, Amounts.negative(queue.usedOn(label)));
    return unused;
  }

  /** Returns what a queue is guaranteed of these nodes, or gets of them by its weight. */
  private static long[] part(String label, LoomcardQueue queue, long[] capacity) {
    LoomcardQueue parent = queue.parent();
    if (parent == null) {
      return capacity;
    }
    if (parent.childWeights() > 0 && !queue.mayUse(label)) {
      return new long[capacity.length];
    }
    if (parent.childWeights() > 0 || label.isEmpty() && queue.spec().guaranteed.isShare()) {
      return Amounts.share(part(label, parent, capacity),
          Math.round(LoomcardQueue.WHOLE * QueueRecords.capacity(queue)));
    }
    long[] stated = label.isEmpty() ? queue.guaranteed() : queue.labelShares().guaranteed(label);
    return stated == null ? new long[capacity.length] : stated;
  }

  private static long[] of(LoomcardQueue leaf, Collection<String> labels,
      PartitionCapacities partitions) {
    long[] room = new long[leaf.maximum().length];
    for (String label : labels) {
      if (leaf.mayUse(label)) {
        Amounts.add(room, on(label, leaf, partitions.capacity(label)));
      }
    }
    for (LoomcardQueue queue = leaf; queue != null; queue = queue.parent()) {
      Amounts.narrow(room, queue.maximum(), queue.used());
    }
    return room;
  }

  private static long[] on(String label, LoomcardQueue leaf, long[] capacity) {
    long[] room = capacity.clone();
    for (LoomcardQueue queue = leaf; queue != null; queue = queue.parent()) {
      long[] most = queue.labelShares().maximum(label);
      if (most != null || queue.parent() == null) {
        Amounts.narrow(room, most == null ? capacity : most, queue.usedOn(label));
      }
    }
    return room;
  }
}
