package org.loomcard.yarn.queues;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.loomcard.yarn.config.QueueSpec;

/**
 * What one queue is guaranteed and may use at most on the nodes of each label, in amounts; the
 * policy process has the same rule (model/label_limits.py). Immutable.
 */
public final class LabelShares {
  /** By label, if the queue states it. */
  private final Map<String, long[]> maximum;
  private final Map<String, long[]> guaranteed;
  /** By label: the shares of the queues below are parts of it. */
  private final Map<String, long[]> wholeMaximum;
  private final Map<String, long[]> wholeGuaranteed;

  private LabelShares(Map<String, long[]> maximum, Map<String, long[]> guaranteed,
      Map<String, long[]> wholeMaximum, Map<String, long[]> wholeGuaranteed) {
    this.maximum = maximum;
    this.guaranteed = guaranteed;
    this.wholeMaximum = wholeMaximum;
    this.wholeGuaranteed = wholeGuaranteed;
  }

  /** Returns the shares above root: all nodes of each label. */
  public static LabelShares of(Map<String, long[]> capacities) {
    return new LabelShares(new HashMap<>(), new HashMap<>(), capacities, capacities);
  }

  /**
   * Returns the shares of a queue directly below this one. A guarantee is a part of what the parent
   * is guaranteed; if root states none, it is guaranteed all that it may use.
   */
  public LabelShares below(QueueSpec spec, int types) {
    Map<String, long[]> most = shares(spec.labelMaximumPpm, wholeMaximum, types);
    Map<String, long[]> promised = shares(spec.labelGuaranteedPpm, wholeGuaranteed, types);
    Map<String, long[]> wholeMost = new HashMap<>(wholeMaximum);
    wholeMost.putAll(most);
    Map<String, long[]> wholePromised = new HashMap<>();
    if (spec.parent < 0) {
      wholePromised.putAll(wholeMost);
    }
    wholePromised.putAll(promised);
    return new LabelShares(most, promised, wholeMost, wholePromised);
  }

  private static Map<String, long[]> shares(Map<String, Long> ppm, Map<String, long[]> wholes,
      int types) {
    Map<String, long[]> shares = new HashMap<>();
    ppm.forEach((label, part) -> shares.put(label,
        Amounts.share(wholes.getOrDefault(label, new long[types]), part)));
    return shares;
  }

  /** The labels for which something is stated. */
  public Set<String> labels() {
    Set<String> labels = new TreeSet<>(maximum.keySet());
    labels.addAll(guaranteed.keySet());
    return labels;
  }

  /** Returns a copy of the stated maximum; null if none is stated. */
  public long[] maximum(String label) {
    return copy(maximum.get(label));
  }

  /** Returns a copy of the stated guarantee; null if none is stated. */
  public long[] guaranteed(String label) {
    return copy(guaranteed.get(label));
  }

  private static long[] copy(long[] amounts) {
    return amounts == null ? null : amounts.clone();
  }
}
