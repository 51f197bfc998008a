package org.loomcard.yarn.bench;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.hadoop.net.NodeBase;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.api.protocolrecords.NodeHeartbeatResponse;
import org.apache.hadoop.yarn.server.api.records.NodeHealthStatus;
import org.apache.hadoop.yarn.server.api.records.NodeStatus;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeStartedEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeStatusEvent;
import org.apache.hadoop.yarn.util.Records;

/**
 * A NodeManager as the ResourceManager sees it. It starts what masters launch, and reports every
 * running container in each heartbeat and each completion once.
 */
final class SimulatedNode {
  private static final int PORT = 8041;
  private static final int HTTP_PORT = 8042;
  private static final int NODES_PER_RACK = 40;

  private final RMContext context;
  private final RMNodeImpl rmNode;
  private final NodeId id;
  private final ConcurrentLinkedQueue<ContainerStatus> launches = new ConcurrentLinkedQueue<>();
  private final ArrayDeque<Running> running = new ArrayDeque<>();
  private long lastBeat;
  private int beats;
  private volatile boolean inFlight;
  private volatile boolean loaded;

  /** The host is a numeric address: container tokens resolve it, and DNS is not measured. */
  SimulatedNode(RMContext context, int number, int slots, int vcores) {
    this.context = context;
    String host = "10." + (number >> 16) + "." + (number >> 8 & 255) + "." + (number & 255);
    id = NodeId.newInstance(host, PORT);
    rmNode = new RMNodeImpl(id, context, host, PORT, HTTP_PORT,
        new NodeBase(host, "/rack" + number / NODES_PER_RACK),
        Resource.newInstance(slots * BenchmarkSettings.MEMORY_MB_PER_SLOT, vcores), "3.4.2");
  }

  NodeId id() {
    return id;
  }

  @SuppressWarnings("unchecked")
  void register() {
    context.getRMNodes().put(id, rmNode);
    context.getDispatcher().getEventHandler().handle(new RMNodeStartedEvent(
        id, Collections.emptyList(), Collections.emptyList(), status(new ArrayList<>())));
  }

  /** Called by the masters' thread. */
  void launch(ContainerId container) {
    launches.add(ContainerStatus.newInstance(container, ContainerState.RUNNING, "", 0));
  }

  /** Adds what was launched; returns how many containers run. */
  int startLaunched(long now) {
    ContainerStatus status = launches.poll();
    while (status != null) {
      running.add(new Running(status, now));
      status = launches.poll();
    }
    return running.size();
  }

  int runningSince(long oldest) {
    int count = 0;
    for (Running one : running) {
      if (one.since > oldest) {
        break;
      }
      count++;
    }
    return count;
  }

  /** Sends one heartbeat that reports at most this many containers, the oldest, as finished. */
  @SuppressWarnings("unchecked")
  void beat(long now, int most) {
    List<ContainerStatus> statuses = new ArrayList<>(running.size());
    int completions = Math.min(most, running.size());
    for (int i = completions; i > 0; i--) {
      ContainerId container = running.poll().status.getContainerId();
      statuses.add(ContainerStatus.newInstance(container, ContainerState.COMPLETE, "", 0));
    }
    for (Iterator<Running> each = running.iterator(); each.hasNext();) {
      statuses.add(each.next().status);
    }
    lastBeat = now;
    beats++;
    loaded = completions >= BenchmarkSettings.COMPLETIONS_PER_HEARTBEAT;
    inFlight = true;
    context.getDispatcher().getEventHandler().handle(new RMNodeStatusEvent(id, status(statuses)));
    // The content of the heartbeat's answer; only when it is taken, the RM forgets completions.
    rmNode.setAndUpdateNodeHeartbeatResponse(Records.newRecord(NodeHeartbeatResponse.class));
  }

  /** Called by the scheduler's thread when it has handled the node's update. */
  void updated() {
    inFlight = false;
  }

  /** Whether the heartbeat in flight reports as many completions as a saturated one does. */
  boolean loaded() {
    return loaded;
  }

  boolean inFlight() {
    return inFlight;
  }

  long lastBeat() {
    return lastBeat;
  }

  private NodeStatus status(List<ContainerStatus> statuses) {
    return NodeStatus.newInstance(id, beats, statuses, Collections.emptyList(),
        NodeHealthStatus.newInstance(true, "", 0), null, null, null);
  }

  private static final class Running {
    final ContainerStatus status;
    final long since;

    Running(ContainerStatus status, long since) {
      this.status = status;
      this.since = since;
    }
  }
}
