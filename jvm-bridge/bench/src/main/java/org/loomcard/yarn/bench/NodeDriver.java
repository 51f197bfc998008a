package org.loomcard.yarn.bench;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import org.apache.hadoop.yarn.api.records.NodeId;

/**
 * All NodeManagers, in one thread. Saturated: as many heartbeats as the scheduler handles, each
 * with five completions. Paced: a heartbeat of every node once per second; containers live for
 * nine.
 */
final class NodeDriver implements Runnable {
  static final String THREAD = "node-managers";
  /** How long a container runs in the paced phase. */
  static final int LIFE_SECONDS = 9;

  /** What the nodes shall do. */
  enum Phase { FILL, SATURATED, PACED }

  private static final int MOST_IN_FLIGHT = 100;
  private static final long PERIOD = TimeUnit.SECONDS.toNanos(1);
  private static final long LIFE = TimeUnit.SECONDS.toNanos(LIFE_SECONDS);
  private static final long REST = TimeUnit.MILLISECONDS.toNanos(2);
  /** If a look at all nodes finds fewer to send, a rest follows: looking costs CPU too. */
  private static final int WORTH_LOOKING = 50;

  private final List<SimulatedNode> nodes;
  private final Map<NodeId, SimulatedNode> byId = new HashMap<>();
  private final Semaphore room = new Semaphore(MOST_IN_FLIGHT);
  private final LongAdder updates = new LongAdder();
  private volatile Phase phase = Phase.FILL;

  NodeDriver(List<SimulatedNode> nodes) {
    this.nodes = nodes;
    for (SimulatedNode node : nodes) {
      byId.put(node.id(), node);
    }
  }

  void enter(Phase next) {
    phase = next;
  }

  SimulatedNode node(NodeId id) {
    return byId.get(id);
  }

  /** Called by the scheduler's thread. */
  void updated(NodeId id) {
    SimulatedNode node = byId.get(id);
    if (node != null && node.inFlight()) {
      if (node.loaded() || phase == Phase.PACED) {
        updates.increment();
      }
      node.updated();
      room.release();
    }
  }

  /** The updates handled so far; in the saturated phase only those with five completions. */
  long updates() {
    return updates.sum();
  }

  @Override
  public void run() {
    try {
      while (!Thread.currentThread().isInterrupted()) {
        if (phase == Phase.PACED) {
          pacedRound();
        } else {
          fastRound();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * A node with fewer than five containers to report waits, for at most the second after which a
   * real NodeManager would report anyway: empty heartbeats must not count as work done.
   */
  private void fastRound() throws InterruptedException {
    int sent = 0;
    boolean filling = phase == Phase.FILL;
    long now = System.nanoTime();
    for (SimulatedNode node : nodes) {
      if (node.inFlight()) {
        continue;
      }
      int running = node.startLaunched(now);
      boolean due = filling || running >= BenchmarkSettings.COMPLETIONS_PER_HEARTBEAT
          || now - node.lastBeat() >= PERIOD;
      if (due) {
        beat(node, now, filling ? 0 : BenchmarkSettings.COMPLETIONS_PER_HEARTBEAT);
        sent++;
      }
    }
    if (sent < WORTH_LOOKING) {
      LockSupport.parkNanos(REST);
    }
  }

  private void pacedRound() throws InterruptedException {
    long start = System.nanoTime();
    for (int i = 0; i < nodes.size() && phase == Phase.PACED; i++) {
      long due = start + i * PERIOD / nodes.size();
      long now = System.nanoTime();
      while (now < due) {
        LockSupport.parkNanos(due - now);
        now = System.nanoTime();
      }
      SimulatedNode node = nodes.get(i);
      node.startLaunched(now);
      if (!node.inFlight()) {
        beat(node, now, node.runningSince(now - LIFE));
      }
    }
    LockSupport.parkNanos(start + PERIOD - System.nanoTime());
  }

  private void beat(SimulatedNode node, long now, int completions) throws InterruptedException {
    room.acquire();
    node.beat(now, completions);
  }
}
