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

  synchronized void add(String user, long[] size, boolean isAm) {
    Amounts.add(used, size);
    Amounts.add(byUser.computeIfAbsent(user, name -> new long[used.length]), size);
    containers++;
    if (isAm) {
      Amounts.add(usedByAms, size);
    }
  }

  synchronized void remove(String user, long[] size, boolean isAm) {
    Amounts.subtract(used, size);
    long[] ofUser = byUser.get(user);
    if (ofUser != null) {
      Amounts.subtract(ofUser, size);
      if (Amounts.isZero(ofUser)) {
        byUser.remove(user);
      }
    }
    containers--;
    if (isAm) {
      Amounts.subtract(usedByAms, size);
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
