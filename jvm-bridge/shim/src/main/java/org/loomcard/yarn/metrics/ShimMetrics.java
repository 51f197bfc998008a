package org.loomcard.yarn.metrics;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * What the shim did since it started: containers allocated by origin, refused by reason. Any thread
 * may read it.
 */
public final class ShimMetrics {
  private final LongAdder allocatedByPolicy = new LongAdder();
  private final LongAdder allocatedByFallback = new LongAdder();
  private final LongAdder preempted = new LongAdder();
  private final LongAdder nodeUpdates = new LongAdder();
  private final LongSupplier nanoTime;
  private volatile long lastNodeUpdateNanos;
  private final Map<String, LongAdder> refused = new ConcurrentHashMap<>();

  public ShimMetrics() {
    this(System::nanoTime);
  }

  /** Creates it with the caller's clock, which must never jump; in nanoseconds from any zero. */
  public ShimMetrics(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  /** Notes that a node sends a heartbeat now. */
  public void nodeUpdated() {
    lastNodeUpdateNanos = nanoTime.getAsLong();
    nodeUpdates.increment(); // after the time: a thread that sees the count must also see the time
  }

  public void countPolicyAllocation() {
    allocatedByPolicy.increment();
  }

  public void countFallbackAllocation() {
    allocatedByFallback.increment();
  }

  public void countPreemption() {
    preempted.increment();
  }

  public void countRefusals(String reason, int count) {
    refused.computeIfAbsent(reason, code -> new LongAdder()).add(count);
  }

  /** Containers allocated because a plan of the policy process said so. */
  public long allocatedByPolicy() {
    return allocatedByPolicy.sum();
  }

  /** Containers allocated by the FIFO in the shim while no policy process could decide. */
  public long allocatedByFallback() {
    return allocatedByFallback.sum();
  }

  /** Containers that a plan preempted. */
  public long preempted() {
    return preempted.sum();
  }

  /** Heartbeats of nodes. */
  public long nodeUpdates() {
    return nodeUpdates.sum();
  }

  /** Milliseconds since the last heartbeat of any node; -1 before the first. */
  public long sinceNodeUpdateMs() {
    if (nodeUpdates() == 0) {
      return -1;
    }
    long last = lastNodeUpdateNanos;
    return TimeUnit.NANOSECONDS.toMillis(nanoTime.getAsLong() - last);
  }

  /** Containers and preemptions refused, by reason code. */
  public Map<String, Long> refused() {
    Map<String, Long> counts = new TreeMap<>();
    refused.forEach((reason, count) -> counts.put(reason, count.sum()));
    return counts;
  }

  @Override
  public String toString() {
    return "allocated by policy " + allocatedByPolicy() + ", by fallback " + allocatedByFallback()
        + ", preempted "
        + preempted() + ", refused " + refused();
  }
}
