package org.loomcard.yarn;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * What the shim did since it started: containers granted by origin, refused by reason. Read from
 * any thread.
 */
public final class ShimMetrics {
  private final LongAdder grantedByPolicy = new LongAdder();
  private final LongAdder grantedByFallback = new LongAdder();
  private final LongAdder preempted = new LongAdder();
  private final LongAdder resizesServed = new LongAdder();
  private final Map<String, LongAdder> refused = new ConcurrentHashMap<>();

  void countPolicyGrant() {
    grantedByPolicy.increment();
  }

  void countFallbackGrant() {
    grantedByFallback.increment();
  }

  void countPreemption() {
    preempted.increment();
  }

  void countResize() {
    resizesServed.increment();
  }

  void countRefusals(String reason, int count) {
    refused.computeIfAbsent(reason, code -> new LongAdder()).add(count);
  }

  /** Containers granted because a plan of the policy process said so. */
  public long grantedByPolicy() {
    return grantedByPolicy.sum();
  }

  /** Containers granted by the FIFO in the shim while no policy process could decide. */
  public long grantedByFallback() {
    return grantedByFallback.sum();
  }

  /** Containers that a plan took back. */
  public long preempted() {
    return preempted.sum();
  }

  /** Increases of running containers, which need no decision: their node is given. */
  public long resizesServed() {
    return resizesServed.sum();
  }

  /** Containers and preemptions refused, by reason code. */
  public Map<String, Long> refused() {
    Map<String, Long> counts = new TreeMap<>();
    refused.forEach((reason, count) -> counts.put(reason, count.sum()));
    return counts;
  }

  @Override
  public String toString() {
    return "granted by policy " + grantedByPolicy() + ", by fallback " + grantedByFallback()
        + ", preempted "
        + preempted() + ", refused " + refused();
  }
}
