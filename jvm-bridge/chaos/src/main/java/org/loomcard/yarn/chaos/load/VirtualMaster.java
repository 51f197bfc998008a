package org.loomcard.yarn.chaos.load;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.api.records.UpdatedContainer;
import org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException;
import org.apache.hadoop.yarn.exceptions.YarnException;

/**
 * An unmanaged application master that counts: every container of every ask is allocated once, no
 * container comes without an ask, and each end is reported. One thread at a time calls it.
 */
class VirtualMaster {
  /** A real master notices a dead node by itself; this one only after this time. */
  private static final long UNTOLD_MS = 60_000;

  final ApplicationId id;
  final VirtualCluster cluster;
  final Findings findings;
  private final MasterLink link;
  private final Map<Long, Ask> asks = new HashMap<>();
  private final Map<ContainerId, HeldContainer> held = new HashMap<>();
  private final Set<ContainerId> seen = new HashSet<>();
  private final List<Ask> changed = new ArrayList<>();
  private final List<ContainerId> releases = new ArrayList<>();
  final List<UpdateContainerRequest> updates = new ArrayList<>();
  private boolean registered;
  private boolean over;
  private int lives;
  private long repeatAtMs;
  private long lastKey;
  int allocated;
  int done;

  VirtualMaster(VirtualCluster cluster, ApplicationId id, UserGroupInformation user)
      throws Exception {
    this.cluster = cluster;
    this.findings = cluster.findings;
    this.id = id;
    this.link = new MasterLink(cluster.conf, user);
  }

  // The decisions of the different kinds of masters.

  /** Asks, releases or resizes as this kind decides, before the next heartbeat. */
  void act() {
  }

  /** Returns how long a container runs that was just allocated. */
  long lifeMs() {
    return 1000;
  }

  /** Called after a container was allocated and before it is launched. */
  void onAllocation(Container container) {
  }

  /** Returns whether a container that was lost is requested again. */
  boolean wantsAgain() {
    return true;
  }

  /** Returns whether its work is done and it can unregister. */
  boolean isDone() {
    return asks.isEmpty() && held.isEmpty();
  }

  // The methods that such a decision can use.

  final Ask ask(int priority, Resource size, int count, String strictHost) {
    Ask ask = new Ask(++lastKey, priority, size, count, strictHost);
    asks.put(ask.key, ask);
    changed.add(ask);
    return ask;
  }

  final void cancelAll() {
    for (Ask ask : asks.values()) {
      if (!ask.cancelled) {
        ask.cancelled = true;
        changed.add(ask);
      }
    }
  }

  final void releaseAll() {
    for (HeldContainer each : held.values()) {
      release(each);
    }
  }

  private void release(HeldContainer each) {
    if (!each.released) {
      each.released = true;
      releases.add(each.container.getId());
    }
  }

  final List<Container> containers() {
    List<Container> live = new ArrayList<>();
    held.values().stream().filter(each -> !each.released)
        .forEach(each -> live.add(each.container));
    return live;
  }

  final synchronized int outstanding() {
    return asks.values().stream().filter(ask -> !ask.cancelled)
        .mapToInt(ask -> ask.outstanding).sum();
  }

  final boolean isOver() {
    return over;
  }

  final boolean isRegistered() {
    return registered;
  }

  // The heartbeat.

  /** Sends one heartbeat; if frozen, it only fetches what was allocated. */
  final void step(boolean frozen) throws Exception {
    link.as(() -> {
      stepAsUser(frozen);
      return null;
    });
  }

  private void stepAsUser(boolean frozen) throws Exception {
    if (!registered) {
      link.register();
      registered = true;
      repeatAtMs = lives++ == 0 ? Long.MAX_VALUE : System.currentTimeMillis() + UNTOLD_MS / 4;
    }
    if (!frozen) {
      synchronized (this) {
        act();
        repeatReleases();
        findUntold();
      }
      if (isDone()) {
        finish();
        return;
      }
    }
    try {
      heartbeat();
    } catch (ApplicationMasterNotRegisteredException e) {
      findings.count("masters that registered again");
      registered = false;
      synchronized (this) {
        changed.clear();
        asks.values().stream().filter(ask -> !ask.cancelled).forEach(changed::add);
        asks.values().removeIf(ask -> ask.cancelled);
      }
    }
  }

  private void heartbeat() throws Exception {
    List<ResourceRequest> rows = new ArrayList<>();
    changed.forEach(ask -> rows.addAll(ask.rows()));
    List<ContainerId> released = new ArrayList<>(releases);
    AllocateResponse response;
    try {
      response = link.allocate(rows, released, new ArrayList<>(updates));
    } catch (ApplicationMasterNotRegisteredException e) {
      throw e;
    } catch (Exception e) {
      refused(e);
      return;
    }
    synchronized (this) {
      boolean cancelled = changed.stream().anyMatch(ask -> ask.cancelled);
      changed.clear();
      releases.removeAll(released);
      updates.clear();
      take(response);
      if (!cancelled) {
        asks.values().removeIf(ask -> ask.cancelled);
      }
      asks.values().removeIf(ask -> ask.outstanding == 0);
    }
  }

  /** Called if the ResourceManager refused the whole call; by default it is repeated. */
  void refused(Exception e) throws Exception {
    throw e;
  }

  /** Forgets the asks that were new in the refused call; older asks stay. */
  final synchronized void forgetRefused() {
    changed.stream().filter(ask -> !ask.cancelled).forEach(ask -> asks.remove(ask.key));
    changed.removeIf(ask -> !ask.cancelled);
    updates.clear();
  }

  private void take(AllocateResponse response) {
    for (Container container : response.getAllocatedContainers()) {
      allocated(container);
    }
    for (ContainerStatus status : response.getCompletedContainersStatuses()) {
      ended(status);
    }
    for (UpdatedContainer updated : response.getUpdatedContainers()) {
      findings.count("containers resized");
      VirtualNode node = cluster.node(updated.getContainer().getNodeId());
      // The ResourceManager itself informs the node of a container that shrinks.
      if (node != null && updated.getUpdateType() == ContainerUpdateType.INCREASE_RESOURCE) {
        node.grow(updated.getContainer());
      }
      resized(updated.getContainer());
    }
  }

  /** Called when the size of a container has changed. */
  void resized(Container container) {
  }

  /** Replaces the container of that id. */
  final void replace(Container container) {
    HeldContainer one = held.get(container.getId());
    if (one != null) {
      one.container = container;
    }
  }

  private void allocated(Container container) {
    findings.count("allocated");
    allocated++;
    if (!seen.add(container.getId())) {
      findings.violation("allocated twice", container.getId() + " came twice");
      return;
    }
    Ask ask = asks.get(container.getAllocationRequestId());
    if (ask == null || ask.outstanding == 0) {
      findings.violation("allocated too much", container.getId() + " of ask "
          + container.getAllocationRequestId() + ", of which none was outstanding");
      releases.add(container.getId());
      return;
    }
    ask.outstanding--;
    if (!container.getResource().equals(ask.size)) {
      findings.violation("wrong size", container.getId() + " has " + container.getResource()
          + ", asked for was " + ask.size);
    }
    if (ask.strictHost != null && !ask.strictHost.equals(container.getNodeId().getHost())) {
      findings.violation("wrong place", container.getId() + " is on " + container.getNodeId()
          + ", asked for was only " + ask.strictHost);
    }
    onAllocation(container);
    HeldContainer one = new HeldContainer(container, ask, lives);
    held.put(container.getId(), one);
    VirtualNode node = cluster.node(container.getNodeId());
    if (!node.launch(container, lifeMs())) {
      findings.count("launches on a node that is gone");
      release(one);
      askAgain(ask);
    }
  }

  private void ended(ContainerStatus status) {
    HeldContainer one = held.remove(status.getContainerId());
    if (one == null) {
      findings.count("ends reported again");
      return;
    }
    cluster.node(one.container.getNodeId()).drop(status.getContainerId());
    if (status.getExitStatus() == 0) {
      done++;
    } else if (!one.released) {
      findings.count("containers lost, exit status " + status.getExitStatus());
      askAgain(one.ask);
    }
  }

  private void askAgain(Ask lost) {
    if (wantsAgain()) {
      ask(lost.priority, lost.size, 1, null);
    }
  }

  /**
   * Repeats releases once after each restart of the ResourceManager: it drops those that come
   * before it knows their containers, if it has then run for longer than a node's expiry.
   */
  private void repeatReleases() {
    if (System.currentTimeMillis() > repeatAtMs) {
      repeatAtMs = Long.MAX_VALUE;
      held.values().stream().filter(each -> each.released)
          .forEach(each -> releases.add(each.container.getId()));
    }
  }

  /** Finds containers that no node knows and whose end was never reported. */
  private void findUntold() {
    long now = System.currentTimeMillis();
    for (HeldContainer one : new ArrayList<>(held.values())) {
      VirtualNode node = cluster.node(one.container.getNodeId());
      if (node.knows(one.container.getId())) {
        one.missingSinceMs = 0;
      } else if (one.missingSinceMs == 0) {
        one.missingSinceMs = now;
      } else if (now - one.missingSinceMs > UNTOLD_MS || one.life < lives
          && now - one.missingSinceMs > UNTOLD_MS / 4) {
        if (one.life == lives) {
          findings.violation("end never reported", one.container.getId() + " is on no node since "
              + one.missingSinceMs);
        } else {
          findings.count("ends that a restart swallowed");
        }
        held.remove(one.container.getId());
        askAgain(one.ask);
      }
    }
  }

  private void finish() throws Exception {
    try {
      over = link.unregister();
    } catch (ApplicationMasterNotRegisteredException e) {
      registered = false;
    }
  }

  /**
   * Registers and unregisters once more. YARN reports an unmanaged master's end to it before that
   * is stored; if the ResourceManager is killed in between, the application stays running.
   */
  final void endAgain() throws Exception {
    link.as(() -> {
      try {
        link.register();
        link.unregister();
      } catch (YarnException | IOException e) {
        findings.count("second unregistration refused: " + e.getClass().getSimpleName());
      }
      return null;
    });
  }

  /** Sends no more heartbeats. */
  final void close() {
    over = true;
    link.close();
  }
}
