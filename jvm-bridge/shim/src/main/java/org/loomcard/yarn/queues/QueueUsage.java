package org.loomcard.yarn.queues;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * What the live containers of one queue and all queues below it use: in all, by user, by node label
 * and by AMs; also how many applications live there. Containers end on several of YARN's threads at
 * once, so every method takes the object's own lock.
 */
final class QueueUsage {
  private final Map<String, long[]> byUser = new HashMap<>();
  private final Map<String, long[]> byLabel = new HashMap<>();
  private final Map<String, long[]> lentByLabel = new HashMap<>();
  private final Map<String, Integer> applicationsByUser = new HashMap<>();
  private final Map<String, Integer> mastersByUser = new HashMap<>();
  private final long[] used;
  private final long[] usedByAms;
  private int containers;
  private int applications;
  private int masters;

  QueueUsage(int types) {
    used = new long[types];
    usedByAms = new long[types];
  }

  /**
   * Adds a change, which may be negative, and changes the number of containers by {@code count}.
   */
  synchronized void change(String user, long[] change, boolean isAm, LabelUse on, int count) {
    Amounts.add(used, change);
    change(byUser, user, change);
    change(on, change);
    containers += count;
    if (isAm) {
      Amounts.add(usedByAms, change);
      masters += count;
      mastersByUser.merge(user, count, Integer::sum);
      mastersByUser.remove(user, 0);
    }
  }

  /** Moves a container's amounts from the nodes of one label to those of another. */
  synchronized void relabel(long[] size, LabelUse from, LabelUse to) {
    change(from, Amounts.negative(size));
    change(to, size);
  }

  private void change(LabelUse on, long[] change) {
    change(byLabel, on.label, change);
    if (on.isLent()) {
      change(lentByLabel, on.label, change);
    }
  }

  private static void change(Map<String, long[]> sums, String name, long[] change) {
    long[] sum = sums.computeIfAbsent(name, unused -> new long[change.length]);
    Amounts.add(sum, change);
    if (Amounts.isZero(sum)) {
      sums.remove(name);
    }
  }

  /** Changes the number of a user's live applications by {@code count}. */
  synchronized void changeApplications(String user, int count) {
    applications += count;
    applicationsByUser.merge(user, count, Integer::sum);
    applicationsByUser.remove(user, 0);
  }

  synchronized int masters() {
    return masters;
  }

  synchronized int mastersOf(String user) {
    return mastersByUser.getOrDefault(user, 0);
  }

  synchronized int applications() {
    return applications;
  }

  synchronized int applicationsOf(String user) {
    return applicationsByUser.getOrDefault(user, 0);
  }

  /** Returns the users with the most applications, at most {@code count}, most first. */
  synchronized Map<String, Integer> busiestUsers(int count) {
    List<Map.Entry<String, Integer>> all = new ArrayList<>(applicationsByUser.entrySet());
    all.sort(Map.Entry.<String, Integer>comparingByValue().reversed()
        .thenComparing(Map.Entry.comparingByKey()));
    Map<String, Integer> busiest = new LinkedHashMap<>();
    for (Map.Entry<String, Integer> each : all.subList(0, Math.min(count, all.size()))) {
      busiest.put(each.getKey(), each.getValue());
    }
    return busiest;
  }

  /** The labels on whose nodes something is used. */
  synchronized Set<String> labels() {
    return new TreeSet<>(byLabel.keySet());
  }

  synchronized boolean fitsLabel(String label, long[] size, long[] limit) {
    return Amounts.fits(byLabel.getOrDefault(label, new long[used.length]), size, limit);
  }

  synchronized long[] usedOn(String label) {
    return byLabel.getOrDefault(label, new long[used.length]).clone();
  }

  synchronized long[] lentOn(String label) {
    return lentByLabel.getOrDefault(label, new long[used.length]).clone();
  }

  synchronized boolean fits(long[] size, long[] maximum) {
    return Amounts.fits(used, size, maximum);
  }

  synchronized boolean fitsUser(String user, long[] size, long[] limit) {
    return Amounts.fits(byUser.getOrDefault(user, new long[used.length]), size, limit);
  }

  /** Whether an AM of this size fits; the first AM of a queue is always allowed. */
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
