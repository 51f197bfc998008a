package org.loomcard.yarn.queues;

import org.apache.hadoop.yarn.server.resourcemanager.RMContext;

/** In Hadoop 2.7 every label is exclusive: no node lends idle room to asks without a label. */
public final class SharedLabels {
  public SharedLabels(RMContext context) {
  }

  /** Always false. */
  public boolean lends(String label) {
    return false;
  }
}
