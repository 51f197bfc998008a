package org.loomcard.yarn.state;

import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.loomcard.yarn.amounts.Amounts;
import org.loomcard.yarn.amounts.FreeCapacity;
import org.loomcard.yarn.amounts.SharedLabels;
import org.loomcard.yarn.facts.HintBudget;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.PendingEvents;
import org.loomcard.yarn.wire.Records;

/**
 * Everything the policy knows of, by the number it is known under, and the pending events of what
 * changed. Numbers are never used twice.
 *
 * <p>A container is reported as completed when its room on the node is free again, not when YARN
 * stops counting it: YARN frees the room of a killed container only when the node reports its end,
 * and a policy that knew it before would be refused NODE_FULL until then. An application is
 * reported as removed after its last container.
 *
 * <p>The caller of a method that changes something holds the scheduler's lock, for reading or for
 * writing; each thing is changed by one thread at a time, by YARN's own order of events.
 */
public final class ClusterState extends ContainerTable {
  private final AtomicInteger lastNode = new AtomicInteger();
  private final AtomicInteger lastApplication = new AtomicInteger();
  private final AtomicInteger lastAttempt = new AtomicInteger();
  private final Map<Integer, LoomcardNode> nodes = new ConcurrentSkipListMap<>();
  private final Map<NodeId, LoomcardNode> nodesById = new ConcurrentHashMap<>();
  private final Map<Integer, LoomcardApplication> applications = new ConcurrentSkipListMap<>();
  private final Map<ApplicationId,
      LoomcardApplication> applicationsById = new ConcurrentHashMap<>();
  private final Map<Integer, LoomcardAttempt> attempts = new ConcurrentHashMap<>();
  /** By name; of those with a live attempt. */
  private final Map<String, UserAsks> users = new ConcurrentHashMap<>();
  private final FreeCapacity<LoomcardNode> free = new FreeCapacity<>();
  private final Reservations reservations = new Reservations(this);
  private final HintBudget hints = new HintBudget();

  private final SharedLabels sharedLabels;

  public ClusterState(EngineClock clock, SharedLabels sharedLabels) {
    super(clock);
    this.sharedLabels = sharedLabels;
  }

  // Nodes.

  /** A node registered. */
  public LoomcardNode addNode(RMNode rmNode, boolean usePortForName) {
    LoomcardNode node = new LoomcardNode(lastNode.incrementAndGet(), this, rmNode, usePortForName);
    node.setShared(sharedLabels.lends(node.getPartition()));
    nodes.put(node.number(), node);
    nodesById.put(node.getNodeID(), node);
    free.changed(node);
    long at = events.now();
    long[] capacity = Amounts.of(node.getTotalResource());
    events.add(added(at, node, capacity));
    return node;
  }

  /** The record of a node, as it is now. */
  static PendingEvents.Event added(long at, LoomcardNode node, long[] capacity) {
    String label = node.getPartition();
    boolean shared = node.isShared();
    return out -> out.nodeAdded(at, node.number(), node.getNodeID().toString(),
        node.getRackName(), capacity, label, node.getNodeName(), shared);
  }

  /** A node is gone; what is left on it has ended with it. */
  public void removeNode(LoomcardNode node, String reason) {
    for (RMContainer container : node.getCopiedListOfRunningContainers()) {
      ContainerEntry entry = container(container.getContainerId());
      if (entry != null) {
        entry.end("lost", 0);
        forget(entry);
      }
    }
    nodes.remove(node.number());
    free.removed(node);
    nodesById.remove(node.getNodeID(), node);
    long at = events.now();
    events.add(out -> out.nodeRemoved(at, node.number(), reason));
  }

  /** A node has another capacity. */
  public void nodeResized(LoomcardNode node) {
    long at = events.now();
    long[] capacity = Amounts.of(node.getTotalResource());
    events.add(out -> out.nodeResized(at, node.number(), capacity));
  }

  /** A node gets other labels; returns whether it came to another partition by that. */
  public boolean relabelNode(LoomcardNode node, Set<String> labels) {
    String before = node.getPartition();
    boolean lent = node.isShared();
    node.updateLabels(labels);
    String label = node.getPartition();
    boolean shared = sharedLabels.lends(label);
    boolean moved = !label.equals(before);
    if (!moved && shared == lent) {
      return false;
    }
    node.setShared(shared);
    for (RMContainer container : node.getCopiedListOfRunningContainers()) {
      LoomcardAttempt attempt = attemptOf(container);
      if (attempt != null) {
        attempt.movePartition(container, before, label);
      }
    }
    long at = events.now();
    events.add(out -> out.nodeRelabelled(at, node.number(), label, shared));
    return moved;
  }

  /**
   * Whose use a container counts to, whether the policy knows it or it is the second one by which
   * YARN changes another; null for an opportunistic one.
   */
  private LoomcardAttempt attemptOf(RMContainer container) {
    ContainerEntry entry = container(container.getContainerId());
    LoomcardApplication application = entry != null ? entry.application
        : container.getExecutionType() != ExecutionType.GUARANTEED ? null
        : application(container.getApplicationAttemptId().getApplicationId());
    return application == null ? null : application.attempt();
  }

  /** Room on the node was taken or given back. */
  void roomChanged(LoomcardNode node) {
    free.changed(node);
  }

  /** A heartbeat, for policies that need each. */
  public void heartbeat(LoomcardNode node) {
    long at = events.now();
    events.add(out -> out.nodeHeartbeat(at, node.number()));
  }

  // Applications and attempts.

  /**
   * An application was accepted.
   *
   * @param submittedMs on the engine's clock
   */
  public LoomcardApplication addApplication(ApplicationId id, String user, RMApp app,
      LoomcardQueue queue, int priority, long submittedMs) {
    LoomcardApplication application =
        new LoomcardApplication(lastApplication.incrementAndGet(), id, user, app, queue, priority,
            submittedMs, hints);
    applications.put(application.number(), application);
    applicationsById.put(id, application);
    long at = events.now();
    events.add(application.added(at));
    return application;
  }

  /** An application moved, or has another priority. */
  public void changeApplication(LoomcardApplication application, LoomcardQueue queue,
      int priority) {
    if (queue != application.queue()) {
      application.setQueue(queue);
      reservations.moved(application);
    }
    application.setPriority(priority);
    long at = events.now();
    events.add(out -> out.applicationChanged(at, application.number(), application.queue().number(),
        application.priority()));
  }

  /** YARN is done with an application. */
  public void finishApplication(LoomcardApplication application, String state) {
    applicationsById.remove(application.id());
    application.charges().close();
    if (application.finish(state)) {
      forget(application);
    }
  }

  @Override
  boolean isLive(LoomcardNode node) {
    return nodes.get(node.number()) == node;
  }

  @Override
  int newAttemptNumber() {
    return lastAttempt.incrementAndGet();
  }

  @Override
  void forget(LoomcardApplication application) {
    if (applications.remove(application.number()) != null) {
      application.giveBackHints(hints);
      long at = events.now();
      events.add(out -> out.applicationRemoved(at, application.number(), application.finalState()));
    }
  }

  /** An application got a new attempt. */
  public LoomcardAttempt addAttempt(LoomcardApplication application, ApplicationAttemptId id,
      RMContext context) {
    UserAsks user = users.computeIfAbsent(application.user(), name -> new UserAsks());
    LoomcardAttempt attempt =
        new LoomcardAttempt(lastAttempt.incrementAndGet(), application, id, this, user, context);
    user.add(attempt);
    application.setAttempt(attempt);
    attempts.put(attempt.number(), attempt);
    long at = events.now();
    events.add(out -> writeAttempt(out, at, attempt));
    return attempt;
  }

  static void writeAttempt(BatchWriter out, long at, LoomcardAttempt attempt) {
    out.attemptAdded(at, attempt.number(), attempt.application().number(),
        attempt.getApplicationAttemptId().getAttemptId(), attempt.getUnmanagedAM());
  }

  /** An attempt that ended before this cluster state began, or whose containers go on. */
  static void writePastAttempt(BatchWriter out, long at, LoomcardApplication application,
      int ordinal) {
    int number = application.attemptNumber(ordinal);
    out.attemptAdded(at, number, application.number(), ordinal, false);
    out.attemptRemoved(at, number, "");
  }

  /** The AM called for the first time. */
  public void attemptCalled(LoomcardAttempt attempt) {
    if (attempt.register()) {
      long at = events.now();
      events.add(out -> out.attemptRegistered(at, attempt.number()));
    }
  }

  /** An attempt ended; its containers may go on. */
  public void finishAttempt(LoomcardAttempt attempt, String state) {
    if (attempts.remove(attempt.number()) != null) {
      asks.ended(attempt);
      if (attempt.userAsks().remove(attempt)) {
        users.remove(attempt.getUser(), attempt.userAsks());
      }
      long at = events.now();
      events.add(out -> out.attemptRemoved(at, attempt.number(), state));
    }
  }

  void changed(LoomcardAttempt attempt) {
    if (attempts.get(attempt.number()) == attempt) {
      asks.changed(attempt);
      events.changed();
    }
  }

  void touched(LoomcardAttempt attempt) {
    if (attempts.get(attempt.number()) == attempt) {
      asks.changed(attempt);
    }
  }

  // Look-ups.

  public Reservations reservations() {
    return reservations;
  }

  public Collection<LoomcardNode> nodes() {
    return nodes.values();
  }

  /** In order of arrival; some may have ended and wait for their last container. */
  public Collection<LoomcardApplication> applications() {
    return applications.values();
  }

  public LoomcardApplication application(ApplicationId id) {
    return applicationsById.get(id);
  }

  public LoomcardApplication application(int number) {
    return applications.get(number);
  }

  public LoomcardNode node(int number) {
    return nodes.get(number);
  }

  /** The live node of that id, or null. */
  public LoomcardNode node(NodeId id) {
    return nodesById.get(id);
  }

  /** The live attempt of that number, or null. */
  public LoomcardAttempt attempt(int number) {
    return attempts.get(number);
  }

  /** Whether this number was ever given to a node. */
  public boolean wasNode(int number) {
    return number > 0 && number <= lastNode.get();
  }

  /** Whether this number was ever given to an attempt. */
  public boolean wasAttempt(int number) {
    return number > 0 && number <= lastAttempt.get();
  }

  /** Whether any ask may be outstanding; read without a lock, for the pace of rounds. */
  public boolean hasDemand() {
    return asks.hasDemand();
  }

  // Batches; the caller holds the scheduler's write lock.

  /** Takes the pending events and the counts that hold after them. */
  public void writePendingEvents(Records out) {
    events.moveTo(out);
    writeCheck(out);
    reservations.writeTo(out);
  }

  /** Takes everything there is, and forgets the pending events, which is part of it. */
  public void writeSnapshot(Records out) {
    events.clear();
    free.snapshot(SnapshotWriter.write(this, out), this::isLive);
    asks.sendAll(applications.values());
    writeCheck(out);
    reservations.writeSnapshot(out);
  }

  private void writeCheck(Records out) {
    if (asks.write(out)) {
      events.changed(); // the rest wants another round
    }
    int nodeCount = nodes.size();
    int applicationCount = applications.size();
    int containerCount = containerCount();
    long pending = asks.pending();
    long[] left = free.total(this::isLive);
    out.add(batch -> batch.check(nodeCount, applicationCount, containerCount, pending, left));
  }

  /** Forgets the pending events: a snapshot will follow. */
  public void clearPendingEvents() {
    events.clear();
    asks.clear();
  }
}
