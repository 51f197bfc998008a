package org.loomcard.yarn;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Resource;
import org.loomcard.yarn.amounts.Amounts;
import org.loomcard.yarn.queues.QueueTree;
import org.loomcard.yarn.state.LoomcardNode;

/**
 * What the live nodes have, by their labels, and with it what the queues may use. Called under the
 * scheduler's write lock.
 */
final class NodeCapacities {
  private final QueueTree tree;
  private final Map<LoomcardNode, Counted> counted = new HashMap<>();

  NodeCapacities(QueueTree tree) {
    this.tree = tree;
  }

  /** A node came, or has another size or label. */
  void joined(LoomcardNode node, Resource cluster) {
    forget(node);
    Counted now = new Counted(node);
    counted.put(node, now);
    tree.partitions().change(now.label, now.capacity);
    tree.resize(cluster);
  }

  /** A node is gone. */
  void left(LoomcardNode node, Resource cluster) {
    forget(node);
    tree.resize(cluster);
  }

  private void forget(LoomcardNode node) {
    Counted before = counted.remove(node);
    if (before != null) {
      tree.partitions().change(before.label, Amounts.negative(before.capacity));
    }
  }

  /** What a node was counted with. */
  private static final class Counted {
    private final String label;
    private final long[] capacity;

    private Counted(LoomcardNode node) {
      label = node.getPartition();
      capacity = Amounts.of(node.getTotalResource());
    }
  }
}
