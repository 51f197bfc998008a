package org.loomcard.yarn.commit;

import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.function.LongSupplier;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardAttempt;

/** In Hadoop 2.7 a container keeps its size: there is nothing to serve. */
public final class ContainerResizes {

  /** @param writeLock the scheduler's */
  public ContainerResizes(ClusterState cluster, PlanCommitter committer, Lock writeLock,
      LongSupplier nanoTime) {
  }

  public void replaced(LoomcardAttempt attempt, ContainerUpdates updates) {
  }

  public void asked(LoomcardAttempt attempt, ContainerUpdates updates) {
  }

  public boolean hasPending() {
    return false;
  }

  public int count() {
    return 0;
  }

  public void serve() {
  }

  void eventsSent() {
  }

  public void fetched(LoomcardAttempt attempt, List<Container> increased,
      List<Container> promoted) {
  }

  public void shrunk(LoomcardAttempt attempt, List<Container> decreased, List<Container> demoted) {
  }
}
