package org.apache.hadoop.yarn.server.resourcemanager.scheduler.common;

import org.apache.hadoop.yarn.api.records.Resource;

/** What is outstanding of an ask. Hadoop 2.7 lacks this class. */
public final class PendingAsk {
  private final Resource size;
  private final int count;

  public PendingAsk(Resource size, int count) {
    this.size = size;
    this.count = count;
  }

  /** The size of one container. */
  public Resource getPerAllocationResource() {
    return size;
  }

  /** How many containers are outstanding. */
  public int getCount() {
    return count;
  }
}
