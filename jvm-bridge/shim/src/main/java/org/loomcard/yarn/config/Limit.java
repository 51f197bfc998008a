package org.loomcard.yarn.config;

import java.util.Collections;
import java.util.Map;

/**
 * A guaranteed or maximum capacity of a queue: a share of the parent's, or amounts by resource
 * name.
 */
public final class Limit {
  /** Millionths of the parent's capacity of the same kind; -1 when amounts are given. */
  public final int ppm;
  /** Amounts by resource type; empty when a share is given. */
  public final Map<String, Long> amounts;

  private Limit(int ppm, Map<String, Long> amounts) {
    this.ppm = ppm;
    this.amounts = Collections.unmodifiableMap(amounts);
  }

  public static Limit ofShare(int ppm) {
    return new Limit(ppm, Collections.<String, Long>emptyMap());
  }

  public static Limit ofAmounts(Map<String, Long> amounts) {
    return new Limit(-1, amounts);
  }

  public boolean isShare() {
    return ppm >= 0;
  }
}
