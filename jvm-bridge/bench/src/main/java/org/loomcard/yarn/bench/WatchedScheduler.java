package org.loomcard.yarn.bench;

import java.lang.reflect.Field;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.loomcard.yarn.LoomcardScheduler;

/** Loomcard's scheduler with a lock that notes how long it is kept. */
public final class WatchedScheduler extends LoomcardScheduler {
  final LockHolds holds = new LockHolds();

  /** Called by the ResourceManager before anything has taken YARN's own lock. */
  public WatchedScheduler() {
    ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    set("readLock", holds.read(lock));
    set("writeLock", holds.write(lock));
  }

  private void set(String name, Object value) {
    try {
      Field field = AbstractYarnScheduler.class.getDeclaredField(name);
      field.setAccessible(true);
      field.set(this, value);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("YARN's scheduler has no field " + name, e);
    }
  }
}
