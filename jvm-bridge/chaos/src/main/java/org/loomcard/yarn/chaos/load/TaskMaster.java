package org.loomcard.yarn.chaos.load;

import java.util.Random;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Resource;

/** The ordinary application: a number of tasks of a few sizes, requested in waves; then it ends. */
final class TaskMaster extends VirtualMaster {
  private static final int UNIT_MB = 64;
  private static final int MOST_OUTSTANDING = 30;

  private final Random random;
  private final int tasks;
  private int asked;
  private volatile boolean hurried;

  TaskMaster(VirtualCluster cluster, ApplicationId id, UserGroupInformation user, long seed)
      throws Exception {
    super(cluster, id, user);
    random = new Random(seed);
    tasks = 60 + random.nextInt(120);
  }

  /** Starts no further wave: the application ends after what it has asked for. */
  void hurry() {
    hurried = true;
  }

  @Override
  void act() {
    if (!hurried && asked < tasks && outstanding() < MOST_OUTSTANDING) {
      int count = Math.min(tasks - asked, 1 + random.nextInt(12));
      int units = 4 + random.nextInt(28);
      asked += count;
      ask(1 + random.nextInt(4), Resource.newInstance(units * UNIT_MB, 1), count, null);
    }
  }

  @Override
  long lifeMs() {
    return 300 + random.nextInt(2500);
  }

  @Override
  boolean isDone() {
    return (hurried || asked >= tasks) && super.isDone();
  }
}
