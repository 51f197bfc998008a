package org.loomcard.yarn.chaos.load;

import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;

/** One application that asks for what does harm, for some seconds, and then ends normally. */
final class GreedyMaster extends VirtualMaster {
  private static final int HUGE_MB = 8192;
  private static final int BEYOND_ALL_MB = 1 << 21;
  private static final int STRICT = 20;
  private static final int STORM = 150;
  private static final int RESIZES = 1000;

  private final String kind;
  private final int count;
  private final long endMs;
  private int steps;
  private int resizes;
  private boolean cancelled;

  GreedyMaster(VirtualCluster cluster, ApplicationId id, UserGroupInformation user, String kind,
      int count, long lastsMs) throws Exception {
    super(cluster, id, user);
    this.kind = kind;
    this.count = count;
    this.endMs = System.currentTimeMillis() + lastsMs;
  }

  @Override
  void act() {
    if (System.currentTimeMillis() > endMs) {
      if (!cancelled) {
        findings.greedy(kind, "allocated " + allocated + ", resized " + resizes);
      }
      cancelled = true;
      cancelAll();
      releaseAll();
      return;
    }
    steps++;
    switch (kind) {
      case "keys": askKeys(); break;
      case "strict": askStrictly(); break;
      case "resize": resizeAll(); break;
      case "oversized": askTooMuch(); break;
      case "storm": storm(); break;
      default: throw new IllegalArgumentException("unknown kind of greed: " + kind);
    }
  }

  private void askKeys() {
    for (int i = 0; steps == 1 && i < count; i++) {
      ask(5, Resource.newInstance(8192, 1), 1, null);
    }
  }

  /** Sends rows for hosts only, without the rack's row that YARN's own client adds. */
  private void askStrictly() {
    for (int i = 0; steps == 1 && i < STRICT; i++) {
      ask(5, Resource.newInstance(256, 1), 2, cluster.host(i));
    }
  }

  private void resizeAll() {
    if (steps == 1) {
      ask(5, Resource.newInstance(256, 1), 4, null);
    }
    for (Container container : containers()) {
      if (resizes < RESIZES) {
        boolean grows = container.getResource().getMemorySize() < 512;
        updates.add(UpdateContainerRequest.newInstance(container.getVersion(), container.getId(),
            grows ? ContainerUpdateType.INCREASE_RESOURCE : ContainerUpdateType.DECREASE_RESOURCE,
            Resource.newInstance(grows ? 1024 : 256, 1), null));
      }
    }
  }

  @Override
  void resized(Container container) {
    resizes++;
    replace(container);
  }

  private void askTooMuch() {
    if (steps == 1) {
      ask(5, Resource.newInstance(HUGE_MB, 1), count, null);
    } else if (steps == 10) {
      ask(5, Resource.newInstance(BEYOND_ALL_MB, 1), count, null);
    }
  }

  private void storm() {
    if (steps % 2 == 1) {
      ask(5, Resource.newInstance(128, 1), STORM, null);
    } else {
      cancelAll();
      releaseAll();
    }
  }

  /** The ResourceManager may refuse a call; the application continues without it. */
  @Override
  void refused(Exception e) {
    findings.greedy(kind, "refused: " + String.valueOf(e.getMessage()).split("\n")[0]);
    findings.count("greedy calls refused");
    forgetRefused();
  }

  @Override
  long lifeMs() {
    return "resize".equals(kind) ? 600_000 : 500;
  }

  @Override
  boolean wantsAgain() {
    return false;
  }

  @Override
  boolean isDone() {
    return cancelled && super.isDone();
  }
}
