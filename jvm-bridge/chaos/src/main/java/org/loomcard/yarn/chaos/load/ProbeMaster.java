package org.loomcard.yarn.chaos.load;

import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.Resource;

/**
 * Always asks for one tiny container. There is always room for it, because no other queue may fill
 * the cluster. Its waiting time is the time that the cluster stood still.
 */
final class ProbeMaster extends VirtualMaster {
  private static final Resource SIZE = Resource.newInstance(64, 1);
  private static final long LIFE_MS = 100;

  private volatile long askedMs;
  private volatile boolean enough;

  ProbeMaster(VirtualCluster cluster, ApplicationId id, UserGroupInformation user)
      throws Exception {
    super(cluster, id, user);
  }

  void stopAsking() {
    enough = true;
  }

  /** Since when it has been waiting, in milliseconds since 1970; 0 while it does not wait. */
  long waitingSinceMs() {
    return outstanding() > 0 ? askedMs : 0;
  }

  @Override
  void act() {
    if (!enough && outstanding() == 0) {
      ask(1, SIZE, 1, null);
      askedMs = System.currentTimeMillis();
    }
  }

  @Override
  void onAllocation(Container container) {
    findings.waited(askedMs, System.currentTimeMillis());
  }

  @Override
  long lifeMs() {
    return LIFE_MS;
  }

  @Override
  boolean wantsAgain() {
    return false;
  }

  @Override
  boolean isDone() {
    return enough && super.isDone();
  }
}
