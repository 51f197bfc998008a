package org.loomcard.yarn;

import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.util.AutoCloseableLock;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.loomcard.yarn.bridge.RoundDriver;
import org.loomcard.yarn.hadoop.DelegatingScheduler;
import org.loomcard.yarn.hadoop.YarnRecords;
import org.loomcard.yarn.metrics.ShimMetrics;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.QueueTree;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.ContainerEndKind;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;
import org.loomcard.yarn.wire.EngineClock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Adds, changes and removes nodes, and takes their heartbeats. */
final class NodeLifecycle {
  private static final Logger LOG = LoggerFactory.getLogger(NodeLifecycle.class);
  /** How many nodes, or queues, get a label each time the scheduler's lock is taken. */
  private static final int SLICE = 100;
  private final DelegatingScheduler<LoomcardAttempt, LoomcardNode> yarn;
  private final RMContext rmContext;
  private final ClusterState cluster;
  private final QueueTree tree;
  private final EngineClock clock;
  private final RoundDriver rounds;
  private final ShimMetrics metrics;
  private final AutoCloseableLock readLock;
  private final AutoCloseableLock writeLock;
  private final boolean usePortForNodeName;
  private volatile boolean wasReady;
  private volatile boolean sawHeartbeat;

  NodeLifecycle(DelegatingScheduler<LoomcardAttempt, LoomcardNode> yarn, RMContext rmContext,
      ClusterState cluster, QueueTree tree, EngineClock clock, RoundDriver rounds,
      ShimMetrics metrics, boolean usePortForNodeName) {
    this.yarn = yarn;
    this.rmContext = rmContext;
    this.cluster = cluster;
    this.tree = tree;
    this.clock = clock;
    this.rounds = rounds;
    this.metrics = metrics;
    this.readLock = yarn.readLock();
    this.writeLock = yarn.writeLock();
    this.usePortForNodeName = usePortForNodeName;
  }

  void add(RMNode rmNode, List<NMContainerStatus> reports) {
    prepare(Collections.singleton(rmNode.getNodeLabels()));
    try (AutoCloseableLock held = writeLock.acquire()) {
      LoomcardNode node = cluster.addNode(rmNode, usePortForNodeName);
      yarn.nodeTracker().addNode(node);
      if (rmContext.getNodeLabelManager() != null) {
        rmContext.getNodeLabelManager().activateNode(node.getNodeID(), node.getTotalResource());
      }
      count(node);
      recover(node, reports);
      LOG.info("Added node {}; the cluster has {}", node.getNodeID(), yarn.getClusterResource());
    }
    rounds.signal();
  }

  /** Enters the containers that a new node reports; only after a restart it has some. */
  private void recover(LoomcardNode node, List<NMContainerStatus> reports) {
    yarn.recoverContainersOnNode(reports, node.getRMNode());
    node.getCopiedListOfRunningContainers().stream()
        .filter(YarnRecords::isGuaranteed)
        .sorted(Comparator.comparing(RMContainer::getContainerId))
        .forEach(each -> cluster.containerRecovered(
            yarn.getCurrentAttemptForContainer(each.getContainerId()), node, each));
  }

  /** Counts the node's capacity to its partition, of which the queues get their shares. */
  private void count(LoomcardNode node) {
    tree.partitions().put(node.getNodeID(), node.getPartition(),
        Amounts.of(node.getTotalResource()));
    tree.resize(yarn.getClusterResource());
  }

  void remove(RMNode rmNode) {
    try (AutoCloseableLock held = writeLock.acquire()) {
      LoomcardNode node = find(rmNode.getNodeID());
      if (node == null) {
        return;
      }
      if (rmContext.getNodeLabelManager() != null) {
        rmContext.getNodeLabelManager().deactivateNode(node.getNodeID());
      }
      for (RMContainer container : node.getCopiedListOfRunningContainers()) {
        yarn.completedContainer(container, SchedulerUtils.createAbnormalContainerStatus(
            container.getContainerId(), SchedulerUtils.LOST_CONTAINER), RMContainerEventType.KILL);
        node.releaseContainer(container.getContainerId(), true);
      }
      yarn.nodeTracker().removeNode(node.getNodeID());
      cluster.removeNode(node, ContainerEndKind.of(rmNode.getState()));
      tree.partitions().remove(node.getNodeID());
      tree.resize(yarn.getClusterResource());
      LOG.info("Removed node {}; the cluster has {}", node.getNodeID(), yarn.getClusterResource());
    }
    rounds.signal();
  }

  private LoomcardNode find(NodeId id) {
    return yarn.nodeTracker().getNode(id);
  }

  /** Handles a heartbeat. One that changes nothing leaves no record and starts no round. */
  void heartbeat(RMNode rmNode) {
    if (!sawHeartbeat) { // a new process gets a snapshot, which would hide this heartbeat from it
      rounds.awaitInline();
      sawHeartbeat = true;
    }
    metrics.nodeUpdated();
    try (AutoCloseableLock held = readLock.acquire()) {
      yarn.updateNode(rmNode, Time.now());
      LoomcardNode node = find(rmNode.getNodeID());
      if (node != null) {
        for (RMContainer container : node.takeOverdue(clock.nowMs())) {
          yarn.killContainer(container);
        }
        if (tree.policyConfig().needsHeartbeats()) {
          cluster.heartbeat(node);
        }
        node.heartbeatDone(clock.nowMs());
      }
    }
    tree.refreshMetrics(clock.nowMs());
    boolean ready = yarn.isReady();
    if (!cluster.events().isEmpty() || ready && !wasReady) {
      wasReady = ready;
      rounds.signal();
    }
    rounds.awaitInline();
  }

  void resize(RMNode rmNode, ResourceOption option) {
    try (AutoCloseableLock held = writeLock.acquire()) {
      yarn.resizeNode(rmNode, option);
      LoomcardNode node = find(rmNode.getNodeID());
      if (node != null) {
        cluster.nodeResized(node);
        count(node);
      }
    }
    rounds.signal();
  }

  /** Relabels nodes, some at a time: an administrator may relabel the whole cluster at once. */
  void relabel(Map<NodeId, Set<String>> labels) {
    Iterator<Map.Entry<NodeId, Set<String>>> left = labels.entrySet().iterator();
    boolean moved = false;
    prepare(labels.values());
    boolean more = true;
    while (more) {
      try (AutoCloseableLock held = writeLock.acquire()) {
        for (int i = 0; i < SLICE && left.hasNext(); i++) {
          moved |= relabel(left.next());
        }
        more = left.hasNext();
        if (!more && moved) { // YARN also sends this event for each node that registers
          yarn.updateTrackedLabels();
        }
      }
    }
    rounds.signal();
  }

  /** Makes the metrics of these labels, for some queues at a time. */
  private void prepare(Collection<Set<String>> labels) {
    Set<String> distinct = new HashSet<>();
    labels.forEach(distinct::addAll);
    boolean more = !distinct.isEmpty();
    while (more) {
      try (AutoCloseableLock held = writeLock.acquire()) {
        more = tree.measure(distinct, SLICE);
      }
    }
  }

  /** Relabels one node; returns whether that moved it to another partition. */
  private boolean relabel(Map.Entry<NodeId, Set<String>> change) {
    LoomcardNode node = find(change.getKey());
    boolean moved = node != null && cluster.relabelNode(node, change.getValue());
    if (moved) {
      count(node);
    }
    return moved;
  }
}
