package org.loomcard.yarn.chaos.load;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.api.ResourceTracker;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.api.protocolrecords.NodeHeartbeatRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.NodeHeartbeatResponse;
import org.apache.hadoop.yarn.server.api.protocolrecords.RegisterNodeManagerRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.RegisterNodeManagerResponse;
import org.apache.hadoop.yarn.server.api.protocolrecords.UnRegisterNodeManagerRequest;
import org.apache.hadoop.yarn.server.api.records.MasterKey;
import org.apache.hadoop.yarn.server.api.records.NodeAction;
import org.apache.hadoop.yarn.server.api.records.NodeHealthStatus;
import org.apache.hadoop.yarn.server.api.records.NodeStatus;

/**
 * A NodeManager without processes that talks to the ResourceManager as a real one does. It keeps
 * its containers during a restart of the ResourceManager and reports every end until that is
 * acknowledged.
 */
public final class VirtualNode {
  private static final int PORT = 8041;
  private static final int NODES_PER_RACK = 8;
  private static final long KEEP_ENDS_MS = 60_000;

  /** A container on this node. */
  private static final class Held {
    final Container container;
    Resource size;
    int version;
    /** When it will end; after its end, when it ended. */
    long endsMs;
    int exit;

    Held(Container container, long endsMs) {
      this.container = container;
      this.size = container.getResource();
      this.version = container.getVersion();
      this.endsMs = endsMs;
    }

    /** Returns false if a later change came before this one: a real NodeManager refuses it, too. */
    boolean change(Container changed) {
      if (changed.getVersion() <= version) {
        return false;
      }
      version = changed.getVersion();
      size = changed.getResource();
      return true;
    }
  }

  private final ResourceTracker tracker;
  private final Findings findings;
  private final NodeId id;
  private Resource capacity;
  private final Resource firstCapacity;
  private final Map<ContainerId, Held> running = new LinkedHashMap<>();
  /** Containers that stay here until the ResourceManager acknowledges their end. */
  private final Map<ContainerId, Held> ended = new LinkedHashMap<>();
  private final Map<ContainerId, Container> increased = new LinkedHashMap<>();
  private boolean away;
  private boolean registered;
  private boolean freshMachine = true;
  private int responseId;
  private long silentUntilMs;
  private MasterKey containerKey;
  private MasterKey tokenKey;

  /** The host is a numeric address: container tokens resolve it, and there is no DNS for it. */
  VirtualNode(ResourceTracker tracker, Findings findings, int number, Resource capacity) {
    this.tracker = tracker;
    this.findings = findings;
    this.capacity = capacity;
    this.firstCapacity = capacity;
    id = NodeId.newInstance("10.0." + number / NODES_PER_RACK + "." + (1 + number), PORT);
  }

  public NodeId id() {
    return id;
  }

  /** Starts a container; returns false if the node is not there. */
  synchronized boolean launch(Container container, long lifeMs) {
    if (away || !registered) {
      return false;
    }
    running.put(container.getId(), new Held(container, System.currentTimeMillis() + lifeMs));
    return true;
  }

  /** Its master knows that the container is lost, so it is not needed here. */
  synchronized void drop(ContainerId container) {
    Held held = running.remove(container);
    if (held != null) {
      end(held, ContainerExitStatus.KILLED_BY_APPMASTER);
    }
  }

  synchronized boolean knows(ContainerId container) {
    return running.containsKey(container) || ended.containsKey(container);
  }

  /** Called by the master of a container that has grown. */
  synchronized void grow(Container container) {
    Held held = running.get(container.getId());
    if (held != null && held.change(container)) {
      increased.put(container.getId(), container);
    }
  }

  /** Removes the machine and its containers. It reports that ({@code politely}) or not. */
  public void leave(boolean politely) throws Exception {
    synchronized (this) {
      away = true;
      registered = false;
      freshMachine = true;
      running.clear();
      ended.clear();
      increased.clear();
    }
    if (politely) {
      tracker.unRegisterNodeManager(UnRegisterNodeManagerRequest.newInstance(id));
    }
  }

  public synchronized void comeBack() {
    capacity = firstCapacity;
    away = false;
    silentUntilMs = 0;
  }

  public synchronized void beSilent(long ms) {
    silentUntilMs = System.currentTimeMillis() + ms;
  }

  /** Sends one heartbeat, or first the registration. */
  void beat(boolean frozen) throws Exception {
    boolean wasRegistered;
    synchronized (this) {
      if (away || System.currentTimeMillis() < silentUntilMs) {
        return;
      }
      wasRegistered = registered;
    }
    if (!wasRegistered) {
      register();
      return;
    }
    NodeHeartbeatRequest request;
    synchronized (this) {
      if (!frozen) {
        endWhatIsDue();
      }
      request = NodeHeartbeatRequest.newInstance(status(), containerKey, tokenKey, null);
    }
    take(tracker.nodeHeartbeat(request));
  }

  private void register() throws Exception {
    RegisterNodeManagerRequest request;
    synchronized (this) {
      List<NMContainerStatus> reports = new ArrayList<>();
      running.values().forEach(held -> reports.add(report(held, ContainerState.RUNNING)));
      ended.values().forEach(held -> reports.add(report(held, ContainerState.COMPLETE)));
      Set<ApplicationId> applications = new LinkedHashSet<>();
      running.keySet().forEach(each -> applications.add(
          each.getApplicationAttemptId().getApplicationId()));
      request = RegisterNodeManagerRequest.newInstance(id, PORT + 1, capacity, "3.4.2", reports,
          freshMachine ? Collections.emptyList() : new ArrayList<>(applications));
    }
    RegisterNodeManagerResponse response = tracker.registerNodeManager(request);
    synchronized (this) {
      if (response.getNodeAction() == NodeAction.SHUTDOWN) {
        findings.count("registrations refused");
        return;
      }
      containerKey = response.getContainerTokenMasterKey();
      tokenKey = response.getNMTokenMasterKey();
      responseId = 0;
      registered = !away;
      freshMachine = false;
    }
  }

  private static NMContainerStatus report(Held held, ContainerState state) {
    Container container = held.container;
    return NMContainerStatus.newInstance(container.getId(), held.version, state,
        held.size, "", held.exit, container.getPriority(), held.endsMs, null,
        ExecutionType.GUARANTEED, container.getAllocationRequestId());
  }

  private void endWhatIsDue() {
    long now = System.currentTimeMillis();
    for (Iterator<Held> each = running.values().iterator(); each.hasNext();) {
      Held held = each.next();
      if (held.endsMs <= now) {
        each.remove();
        end(held, 0);
      }
    }
    ended.values().removeIf(held -> held.endsMs < now - KEEP_ENDS_MS);
  }

  private void end(Held held, int exit) {
    held.exit = exit;
    held.endsMs = System.currentTimeMillis();
    increased.remove(held.container.getId());
    ended.put(held.container.getId(), held);
  }

  private NodeStatus status() {
    List<ContainerStatus> statuses = new ArrayList<>();
    ended.forEach((each, held) -> statuses.add(
        ContainerStatus.newInstance(each, ContainerState.COMPLETE, "", held.exit)));
    running.keySet().forEach(each -> statuses.add(
        ContainerStatus.newInstance(each, ContainerState.RUNNING, "", 0)));
    List<Container> grown = new ArrayList<>(increased.values());
    increased.clear();
    return NodeStatus.newInstance(id, responseId, statuses, Collections.emptyList(),
        NodeHealthStatus.newInstance(true, "", System.currentTimeMillis()), null, null, grown);
  }

  private synchronized void take(NodeHeartbeatResponse response) {
    if (away || !registered) {
      return;
    }
    if (response.getNodeAction() == NodeAction.RESYNC) {
      findings.count("resyncs of nodes");
      registered = false;
      return;
    }
    if (response.getNodeAction() == NodeAction.SHUTDOWN) {
      findings.count("nodes sent away");
      running.clear();
      ended.clear();
      freshMachine = true;
      registered = false;
      away = true;
      return;
    }
    responseId = response.getResponseId();
    if (response.getContainerTokenMasterKey() != null) {
      containerKey = response.getContainerTokenMasterKey();
    }
    if (response.getNMTokenMasterKey() != null) {
      tokenKey = response.getNMTokenMasterKey();
    }
    for (ContainerId each : response.getContainersToCleanup()) {
      Held held = running.remove(each);
      if (held != null) {
        end(held, ContainerExitStatus.KILLED_BY_RESOURCEMANAGER);
      }
    }
    for (ContainerId each : response.getContainersToBeRemovedFromNM()) {
      ended.remove(each);
    }
    for (ApplicationId each : response.getApplicationsToCleanup()) {
      running.keySet().removeIf(c -> c.getApplicationAttemptId().getApplicationId().equals(each));
      ended.keySet().removeIf(c -> c.getApplicationAttemptId().getApplicationId().equals(each));
    }
    for (Container each : response.getContainersToUpdate()) {
      Held held = running.get(each.getId());
      if (held != null) {
        held.change(each);
      }
    }
    if (response.getResource() != null) {
      capacity = response.getResource();
    }
  }

  /** Adds its live containers, by their ids, to the load's state. */
  synchronized void writeTo(Map<String, Object> containers) {
    running.forEach((each, held) -> {
      Map<String, Object> facts = new LinkedHashMap<>();
      facts.put("node", id.toString());
      facts.put("size", new long[] {held.size.getMemorySize(), held.size.getVirtualCores()});
      containers.put(each.toString(), facts);
    });
  }

  synchronized boolean isUp() {
    return !away && registered;
  }

  synchronized boolean owesReports() {
    return !ended.isEmpty() || !increased.isEmpty() || !away && !registered;
  }
}
