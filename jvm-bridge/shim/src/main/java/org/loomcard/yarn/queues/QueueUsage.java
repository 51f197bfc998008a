package org.loomcard.yarn.queues;

import java.util.HashMap;
import java.util.Map;

/**
 * What the live containers of one queue and all queues below it use: in all, by user, and by AMs.
 * Containers end on several of YARN's threads at once, so every method takes the object's own lock.
 */
final class QueueUsage {
  private final Map<String, long[]> byUser = new HashMap<>();
  private final long[] used;
  private final long[] usedByAms;
  private int containers;

  QueueUsage(int types) {
    used = new long[types];
    usedByAms = new long[types];
  }

  /** Adds a change, which may be negative, and so many more or fewer containers. */
  synchronized void change(String user, long[] change, boolean isAm, int count) {
    Amounts.add(used, change);
    long[] ofUser = byUser.computeIfAbsent(user, name -> new long[used.length]);
    Amounts.add(ofUser, change);
    if (Amounts.isZero(ofUser)) {
      byUser.remove(user);
    }
    containers += count;
    if (isAm) {
      Amounts.add(usedByAms, change);
    }
  }

  synchronized boolean fits(long[] size, long[] maximum) {
    return Amounts.fits(used, size, maximum);
  }

  synchronized boolean fitsUser(String user, long[] size, long[] limit) {
    return Amounts.fits(byUser.getOrDefault(user, new long[used.length]), size, limit);
  }

  /** The first AM of a queue is always let in. */
  synchronized boolean fitsAm(long[] size, long[] limit) {
    return Amounts.isZero(usedByAms) || Amounts.fits(usedByAms, size, limit);
  }

  synchronized long[] used() {
    return used.clone();
  }

  synchronized long[] usedByAms() {
    return usedByAms.clone();
  }

  synchronized long[] usedBy(String user) {
    return byUser.getOrDefault(user, new long[used.length]).clone();
  }

  synchronized int containers() {
    return containers;
  }
}
