package org.loomcard.yarn.state;

import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.loomcard.yarn.hadoop.YarnRecords;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.FreeCapacity;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.queues.SharedLabels;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.PendingEvents;
import org.loomcard.yarn.wire.Records;

/**
 * Everything that the policy knows, by the numbers that the policy uses, and the pending events of
 * what changed. Numbers are never used twice.
 *
 * <p>A container is reported as completed when its room on the node is free again, not when YARN
 * stops counting it. YARN frees the room of a killed container only when the node reports its end;
 * a policy that knew the end earlier would be refused with NODE_FULL until then. An application is
 * reported as removed after its last container.
 *
 * <p>The caller of a method that changes something holds the scheduler's lock, for reading or for
 * writing. Each thing is changed by one thread at a time, in YARN's own order of events.
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
  /** By name; only users with a live attempt. */
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

  /** Adds a node that registered. */
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

  /** Returns the record of a node in its present state. */
  static PendingEvents.Event added(long at, LoomcardNode node, long[] capacity) {
    String label = node.getPartition();
    boolean shared = node.isShared();
    return out -> out.nodeAdded(at, node.number(), node.getNodeID().toString(),
        node.getRackName(), capacity, label, node.getNodeName(), shared);
  }

  /** Removes a node; what is left on it has ended with it. */
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

  /** Notes that a node has another capacity. */
  public void nodeResized(LoomcardNode node) {
    long at = events.now();
    long[] capacity = Amounts.of(node.getTotalResource());
    events.add(out -> out.nodeResized(at, node.number(), capacity));
  }

  /** Gives a node other labels; returns whether that moved it to another partition. */
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
   * Returns the attempt to which the use of a container counts; null for an opportunistic one. The
   * policy may know the container, or it may be the second one by which YARN changes another.
   */
  private LoomcardAttempt attemptOf(RMContainer container) {
    ContainerEntry entry = container(container.getContainerId());
    LoomcardApplication application = entry != null ? entry.application
        : !YarnRecords.isGuaranteed(container) ? null
        : application(container.getApplicationAttemptId().getApplicationId());
    return application == null ? null : application.attempt();
  }

  /** Notes that room on the node was taken or given back. */
  void roomChanged(LoomcardNode node) {
    free.changed(node);
  }

  /** Notes a heartbeat, for policies that need each one. */
  public void heartbeat(LoomcardNode node) {
    long at = events.now();
    events.add(out -> out.nodeHeartbeat(at, node.number()));
  }

  // Applications and attempts.

  /**
   * Adds an application that was accepted.
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

  /** Notes that an application moved, or has another priority. */
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

  /** Notes that YARN has finished an application. */
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

  /** Adds a new attempt of an application. */
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

  /** Writes an attempt that ended before this cluster state began, or whose containers continue. */
  static void writePastAttempt(BatchWriter out, long at, LoomcardApplication application,
      int ordinal) {
    int number = application.attemptNumber(ordinal);
    out.attemptAdded(at, number, application.number(), ordinal, false);
    out.attemptRemoved(at, number, "");
  }

  /** Notes the first call of the AM. */
  public void attemptCalled(LoomcardAttempt attempt) {
    if (attempt.register()) {
      long at = events.now();
      events.add(out -> out.attemptRegistered(at, attempt.number()));
    }
  }

  /** Ends an attempt; its containers may continue. */
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

  /** In order of arrival; some may have ended and wait for the end of their last container. */
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

  /** Returns the live node of that id, or null. */
  public LoomcardNode node(NodeId id) {
    return nodesById.get(id);
  }

  /** Returns the live attempt of that number, or null. */
  public LoomcardAttempt attempt(int number) {
    return attempts.get(number);
  }

  /** Returns whether this number was ever given to a node. */
  public boolean wasNode(int number) {
    return number > 0 && number <= lastNode.get();
  }

  /** Returns whether this number was ever given to an attempt. */
  public boolean wasAttempt(int number) {
    return number > 0 && number <= lastAttempt.get();
  }

  /**
   * Returns whether any ask may be outstanding; reads it without a lock, for the pace of rounds.
   */
  public boolean hasDemand() {
    return asks.hasDemand();
  }

  /** Like {@link #hasDemand}, of asks that came so lately that no round left them waiting. */
  public boolean isUrgent() {
    return events.isUrgent() && asks.hasNewDemand();
  }

  /** Notes that a plan was carried out. */
  public void planned() {
    asks.planned(!events.isUrgent());
  }

  // Batches; the caller holds the scheduler's write lock.

  /** Writes and removes the pending events, and the counts that are valid after them. */
  public void writePendingEvents(Records out) {
    events.moveTo(out);
    writeCheck(out);
    reservations.writeTo(out);
  }

  /** Writes the whole state, and forgets the pending events: the state contains them. */
  public void writeSnapshot(Records out) {
    events.clear();
    free.snapshot(SnapshotWriter.write(this, out), this::isLive);
    asks.sendAll(applications.values());
    writeCheck(out);
    reservations.writeSnapshot(out);
  }

  private void writeCheck(Records out) {
    if (asks.write(out)) {
      events.changed(); // the rest needs another round
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
