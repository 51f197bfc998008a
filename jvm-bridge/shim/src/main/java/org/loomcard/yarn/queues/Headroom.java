package org.loomcard.yarn.queues;

import java.util.Collection;
import java.util.Collections;

/** What a queue still leaves to a user, on the nodes of some labels. */
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

  /** Returns what all users of a queue may still use on the nodes of one label; may be negative. */
  static long[] on(String label, LoomcardQueue queue, PartitionCapacities partitions) {
    return of(queue, Collections.singleton(label), partitions);
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
