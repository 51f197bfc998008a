package org.loomcard.yarn.hadoop;

import org.apache.hadoop.yarn.api.records.QueueState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ActiveUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;

/** Those methods of YARN's interface that need nothing of a queue, or that a line lacks. */
public abstract class YarnQueue implements Queue {
  /** The users with applications here, as YARN counts them. */
  public abstract ActiveUsersManager users();

  @Override
  public final ActiveUsersManager getAbstractUsersManager() {
    return users();
  }

  /** Returns the state of a stopped queue in which applications still run. */
  protected static QueueState draining() {
    return QueueState.DRAINING;
  }

  /** Does nothing: pending amounts are in the metrics and, for decisions, in the mirror. */
  @Override
  public final void incPendingResource(String nodeLabel, Resource resource) {
  }

  @Override
  public final void decPendingResource(String nodeLabel, Resource resource) {
  }

  /** Does nothing: no container is reserved on a node; reserved room is in the metrics. */
  @Override
  public final void incReservedResource(String partition, Resource resource) {
  }

  @Override
  public final void decReservedResource(String partition, Resource resource) {
  }
}
