package org.loomcard.yarn.state;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.loomcard.yarn.hadoop.YarnRecords;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.LabelUse;
import org.loomcard.yarn.wire.ContainerRecord;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.PendingEvents;

/** The containers of the cluster state. */
public abstract class ContainerTable {
  final PendingEvents events;
  final AskReports asks = new AskReports();
  private final AtomicLong lastContainer = new AtomicLong();
  private final Map<ContainerId, ContainerEntry> containers = new ConcurrentHashMap<>();
  private final Map<Long, ContainerEntry> containersByNumber = new ConcurrentHashMap<>();
  private final PendingUpdates updates = new PendingUpdates();

  ContainerTable(EngineClock clock) {
    this.events = new PendingEvents(clock);
  }

  /** Returns whether this node is in the cluster. */
  abstract boolean isLive(LoomcardNode node);

  /** Returns a number that no other attempt has. */
  abstract int newAttemptNumber();

  /** Forgets an application that has ended, and whose last container is gone. */
  abstract void forget(LoomcardApplication application);

  public PendingEvents events() {
    return events;
  }

  /** Returns the first of {@code count} numbers that nothing else will get. */
  public long reserveContainerNumbers(long count) {
    return lastContainer.getAndAdd(count) + 1;
  }

  /** Adds a container that a plan placed: its outcome reports it. */
  public ContainerEntry containerAllocated(long number, LoomcardAttempt attempt, LoomcardNode node,
      RMContainer container, boolean isAm) {
    asks.allocated(attempt, YarnRecords.key(container));
    return enter(new ContainerEntry(number, attempt, node, container, isAm, "policy",
        events.now()));
  }

  /** Adds a container that the fallback placed. */
  public ContainerEntry containerGivenByFallback(LoomcardAttempt attempt, LoomcardNode node,
      RMContainer container, boolean isAm) {
    return report(new ContainerEntry(reserveContainerNumbers(1), attempt, node, container, isAm,
        "fallback", events.now()));
  }

  /** Adds a container that a node reported after a restart of the ResourceManager. */
  public void containerRecovered(LoomcardAttempt attempt, LoomcardNode node,
      RMContainer container) {
    RMAppAttempt appAttempt = attempt.appAttempt();
    boolean isAm = appAttempt != null && appAttempt.getMasterContainer() != null
        && appAttempt.getMasterContainer().getId().equals(container.getContainerId());
    attempt.application().charges().add(container.getContainerId(),
        Amounts.of(container.getContainer().getResource()), isAm,
        new LabelUse(node.getPartition(), node.getPartition())); // the ask's label is forgotten
    ContainerEntry entry = new ContainerEntry(reserveContainerNumbers(1), attempt, node, container,
        isAm, "recovered", created(container));
    entry.times().recovered(created(container));
    reportPastAttempt(entry);
    report(entry);
  }

  /** Reads the time of its creation, by another clock, which may be ahead of the engine's. */
  private long created(RMContainer container) {
    return Math.min(events.now(), events.clock().fromWallMs(container.getCreationTime()));
  }

  /**
   * Reports the attempt of a recovered container if it ended before the ResourceManager restarted.
   */
  private void reportPastAttempt(ContainerEntry entry) {
    LoomcardApplication application = entry.application;
    int ordinal = entry.ordinal();
    if (application.attemptNumber(ordinal) == null) {
      application.nameAttempt(ordinal, newAttemptNumber());
      long at = events.now();
      events.add(out -> ClusterState.writePastAttempt(out, at, application, ordinal));
    }
  }

  /** Adds an opportunistic container, unknown to the policy, that becomes an ordinary one. */
  public void containerPromoted(LoomcardAttempt attempt, LoomcardNode node, RMContainer container) {
    report(new ContainerEntry(reserveContainerNumbers(1), attempt, node, container, false,
        "policy", created(container)));
  }

  private ContainerEntry report(ContainerEntry entry) {
    long at = events.now();
    ContainerRecord text = entry.text();
    events.add(out -> out.containerAdded(at, text));
    return enter(entry);
  }

  private ContainerEntry enter(ContainerEntry entry) {
    entry.application.containerAdded();
    containersByNumber.put(entry.number, entry);
    containers.put(entry.container().getContainerId(), entry);
    return entry;
  }

  /** Notes that the AM has received a container. */
  public void containerFetched(ContainerId id, long nowMs) {
    ContainerEntry entry = containers.get(id);
    if (entry != null) {
      entry.times().fetched(nowMs);
    }
  }

  /** Notes that the container runs on its node. */
  public void containerStarted(ContainerId id) {
    ContainerEntry entry = containers.get(id);
    if (entry != null && entry.isRunning()) {
      long at = events.now();
      entry.times().started(entry.node.lastHeartbeatMs(), at);
      events.add(out -> out.containerStarted(at, entry.number));
    }
  }

  /**
   * Adds {@code more} to the container's room on its node, even if its AM has not fetched that yet.
   */
  public void containerGrew(ContainerId id, long[] more) {
    ContainerEntry entry = containers.get(id);
    if (entry != null) {
      long at = events.now();
      long[] size = entry.grow(more);
      events.add(out -> out.containerResized(at, entry.number, size));
    }
  }

  /** Notes that {@code second} exists to change the container {@code id}, which gets its room. */
  public void updateBegun(ContainerId id, RMContainer second) {
    updates.add(id, second);
  }

  /** Returns the second containers by which YARN is changing this one. */
  public List<RMContainer> updatesOf(ContainerId id) {
    return updates.of(id);
  }

  /**
   * Notes that YARN ended a container; the policy is informed when its room is free. Only the first
   * end of a container counts.
   */
  public void containerEnded(ContainerId id, String kind, int exitStatus) {
    ContainerEntry entry = containers.get(id);
    if (entry != null) {
      entry.end(kind, exitStatus);
      if (kind.equals("completed")) {
        entry.times().ended(entry.node.lastHeartbeatMs(), events.now());
      } else {
        entry.times().cut(events.now());
      }
      if (!isLive(entry.node)) {
        forget(entry);
      }
    }
  }

  /** Handles the room of this container, which is free again on its node. */
  void roomFreed(Container freed) {
    ContainerId changed = updates.remove(freed.getId());
    ContainerEntry entry = containers.get(changed == null ? freed.getId() : changed);
    if (entry == null) {
      return;
    }
    if (changed == null) {
      forget(entry);
    } else if (YarnRecords.isGuaranteed(freed)) {
      giveBack(entry, Amounts.of(freed.getResource()));
    }
  }

  /** Shrinks a container. One that has no room any more became opportunistic, or always was. */
  private void giveBack(ContainerEntry entry, long[] less) {
    if (Amounts.isZero(less)) {
      return;
    }
    if (Arrays.equals(less, entry.size())) {
      entry.end("released", 0);
      forget(entry);
    } else {
      containerGrew(entry.container().getContainerId(), Amounts.negative(less));
    }
  }

  final void forget(ContainerEntry entry) {
    if (containers.remove(entry.container().getContainerId(), entry)) {
      containersByNumber.remove(entry.number);
      long at = events.now();
      entry.times().cut(at);
      events.add(out -> out.containerCompleted(at, entry.number, entry.endKind(),
          entry.exitStatus(), entry.times().launchedMs(), entry.times().endedMs()));
      if (entry.application.containerGone()) {
        forget(entry.application);
      }
    }
  }

  public ContainerEntry container(ContainerId id) {
    return containers.get(id);
  }

  public ContainerEntry container(long number) {
    return containersByNumber.get(number);
  }

  /** Returns whether this number was ever given to a container. */
  public boolean wasContainer(long number) {
    return number > 0 && number <= lastContainer.get();
  }

  int containerCount() {
    return containers.size();
  }

  /** All containers, in no particular order. */
  Collection<ContainerEntry> containers() {
    return containersByNumber.values();
  }
}
