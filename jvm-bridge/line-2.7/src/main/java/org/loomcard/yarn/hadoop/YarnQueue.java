package org.loomcard.yarn.hadoop;

import org.apache.hadoop.yarn.api.records.QueueState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ActiveUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;

/** Those methods of YARN's interface that need nothing of a queue; this is for Hadoop 2.7. */
public abstract class YarnQueue implements Queue {
  /** The users with applications here, as YARN counts them. */
  public abstract ActiveUsersManager users();

  @Override
  public final ActiveUsersManager getActiveUsersManager() {
    return users();
  }

  /** Returns the state of a stopped queue in which applications still run. */
  protected static QueueState draining() {
    return QueueState.STOPPED;
  }
}
