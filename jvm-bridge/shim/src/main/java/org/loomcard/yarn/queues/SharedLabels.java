package org.loomcard.yarn.queues;

import java.io.IOException;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;

/** Which node labels are not exclusive: their nodes lend idle room to asks without a label. */
public final class SharedLabels {
  private final RMContext context;

  public SharedLabels(RMContext context) {
    this.context = context;
  }

  public boolean lends(String label) {
    RMNodeLabelsManager labels = context.getNodeLabelManager();
    if (label.isEmpty() || labels == null) {
      return false;
    }
    try {
      return !labels.isExclusiveNodeLabel(label);
    } catch (IOException e) {
      return false; // the cluster has no such label any more; an event will change its nodes
    }
  }
}
