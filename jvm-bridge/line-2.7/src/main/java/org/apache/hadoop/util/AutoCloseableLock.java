package org.apache.hadoop.util;

import java.util.concurrent.locks.Lock;

/** A lock for {@code try (AutoCloseableLock held = lock.acquire())}. Hadoop 2.7 lacks the class. */
public final class AutoCloseableLock implements AutoCloseable {
  private final Lock lock;

  public AutoCloseableLock(Lock lock) {
    this.lock = lock;
  }

  /** Takes the lock; returns this object, whose {@link #close} gives it back. */
  public AutoCloseableLock acquire() {
    lock.lock();
    return this;
  }

  @Override
  public void close() {
    lock.unlock();
  }
}
