package org.loomcard.yarn.commit;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import org.loomcard.yarn.state.LoomcardNode;

/**
 * What has stayed free on each node for the last {@code windows} ticks. What is free at one moment
 * says little: on a large cluster, at any moment some container has just ended. For one thread.
 */
final class IdleRoom {
  private final int windows;
  private final int types;
  private final Map<LoomcardNode, long[][]> least = new HashMap<>();
  private int at;

  /** @param types how many resource types there are */
  IdleRoom(int windows, int types) {
    this.windows = windows;
    this.types = types;
  }

  /** Ends one window. */
  void tick(Collection<LoomcardNode> nodes) {
    at = (at + 1) % windows;
    for (LoomcardNode node : nodes) {
      least.computeIfAbsent(node, added -> new long[windows][types])[at] = node.takeLeastFree();
    }
    if (least.size() > nodes.size()) {
      least.keySet().retainAll(new HashSet<>(nodes));
    }
  }

  /** Forgets everything: nothing is known to have stayed free. */
  void clear() {
    least.clear();
  }

  /** Returns what stayed free on the node: nothing when it has not been known for that long. */
  long[] of(LoomcardNode node) {
    long[][] known = least.get(node);
    long[] idle = new long[types];
    if (known != null) {
      for (int type = 0; type < types; type++) {
        idle[type] = Long.MAX_VALUE;
        for (long[] window : known) {
          idle[type] = Math.min(idle[type], window[type]);
        }
      }
    }
    return idle;
  }
}
