package org.loomcard.yarn.state;

import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.queues.Charges;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.wire.ApplicationRecord;
import org.loomcard.yarn.wire.PendingEvents;

/**
 * One application as the policy knows it. It stays known until the room of its last container is
 * free again. That may be a heartbeat after YARN has forgotten it.
 */
public final class LoomcardApplication {
  /** How many characters of its name the policy, journals and pages get. */
  static final int LONGEST_NAME = 1000;
  /** How many characters of a type, and of each tag, they get; YARN's own clients allow no more. */
  static final int LONGEST_TAG = 100;
  static final int MOST_TAGS = 10;
  private final int number;
  private final ApplicationId id;
  private final String user;
  private final String name;
  private final String type;
  private final Set<String> tags;
  private final long submittedMs;
  private final Charges charges;
  private final Map<String, String> hints;
  /** The numbers on the wire of its attempts, by the attempts' own numbers. */
  private final Map<Integer, Integer> attemptNumbers = new ConcurrentHashMap<>();
  private volatile LoomcardQueue queue;
  private volatile int priority;
  private volatile LoomcardAttempt attempt;
  private volatile long[] policyHeadroom;
  private int containers;
  private String finalState;

  /**
   * Creates an application.
   *
   * @param app null when the ResourceManager has forgotten it already: then it has no name
   * @param submittedMs on the engine's clock
   */
  LoomcardApplication(int number, ApplicationId id, String user, RMApp app, LoomcardQueue queue,
      int priority, long submittedMs, HintBudget budget) {
    this.number = number;
    this.id = id;
    this.user = user;
    this.name = app == null ? "" : cut(app.getName(), LONGEST_NAME);
    this.type = app == null ? "" : cut(app.getApplicationType(), LONGEST_TAG);
    this.tags = app == null ? Collections.<String>emptySet() : cut(app.getApplicationTags());
    this.submittedMs = submittedMs;
    this.queue = queue;
    this.charges = new Charges(user, queue);
    this.priority = priority;
    this.hints = budget.take(user, stated(app));
  }

  public int number() {
    return number;
  }

  public ApplicationId id() {
    return id;
  }

  public String user() {
    return user;
  }

  public LoomcardQueue queue() {
    return queue;
  }

  public int priority() {
    return priority;
  }

  /** The latest attempt, ended or not; null before the first. */
  public LoomcardAttempt attempt() {
    return attempt;
  }

  /** The amounts that its queue is charged for its containers. */
  public Charges charges() {
    return charges;
  }

  /** The headroom that the policy set for its AM; null for the shim's own figure. */
  public long[] policyHeadroom() {
    return policyHeadroom;
  }

  public void setPolicyHeadroom(long[] amounts) {
    policyHeadroom = amounts;
  }

  void setQueue(LoomcardQueue newQueue) {
    queue = newQueue;
    policyHeadroom = null; // another policy may decide there, and state none
    charges.moveTo(newQueue);
  }

  void setPriority(int newPriority) {
    priority = newPriority;
  }

  void setAttempt(LoomcardAttempt newAttempt) {
    attempt = newAttempt;
    nameAttempt(newAttempt.getApplicationAttemptId().getAttemptId(), newAttempt.number());
  }

  void nameAttempt(int ordinal, int attemptNumber) {
    attemptNumbers.put(ordinal, attemptNumber);
  }

  /** Returns the number of an attempt on the wire; null when it was never introduced. */
  Integer attemptNumber(int ordinal) {
    return attemptNumbers.get(ordinal);
  }

  synchronized void containerAdded() {
    containers++;
  }

  /** Counts a container that is gone; returns whether the application can now be forgotten. */
  synchronized boolean containerGone() {
    containers--;
    return containers == 0 && finalState != null;
  }

  /** Ends the application; returns whether it can be forgotten at once. */
  synchronized boolean finish(String state) {
    finalState = state;
    return containers == 0;
  }

  synchronized String finalState() {
    return finalState;
  }

  private static String cut(String text, int most) {
    if (text == null || text.length() <= most) {
      return text;
    }
    return text.substring(0, Character.isHighSurrogate(text.charAt(most - 1)) ? most - 1 : most);
  }

  /** Returns the first ones by name: a hostile client may state any number of them. */
  private static Set<String> cut(Set<String> stated) {
    if (stated == null || stated.isEmpty()) {
      return Collections.emptySet();
    }
    Set<String> kept = new LinkedHashSet<>();
    stated.stream().sorted().limit(MOST_TAGS).forEach(tag -> kept.add(cut(tag, LONGEST_TAG)));
    return kept;
  }

  /** Returns its record in its present state. */
  PendingEvents.Event added(long at) {
    int queueNumber = queue.number();
    int rank = priority;
    return out -> out.applicationAdded(at, number, new ApplicationRecord(id.toString(),
        queueNumber, user, name, type, tags, rank, submittedMs, hints));
  }

  /** Gives back the budget of its hints, as it is forgotten. */
  void giveBackHints(HintBudget budget) {
    budget.giveBack(user, hints);
  }

  private static Map<String, String> stated(RMApp app) {
    if (app == null) { // the ResourceManager has forgotten it already
      return Collections.emptyMap();
    }
    ApplicationSubmissionContext context = app.getApplicationSubmissionContext();
    ContainerLaunchContext am = context == null ? null : context.getAMContainerSpec();
    return Hints.of(am == null ? null : am.getEnvironment(),
        HadoopCalls.schedulingProperties(app));
  }

  @Override
  public String toString() {
    return id + " (" + number + ") of " + user + " in " + queue.path();
  }
}
