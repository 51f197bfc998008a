package org.loomcard.yarn.bridge;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.loomcard.yarn.config.ConfigRefusedException;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.rounds.CommitReport;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.rounds.StalledAsk;
import org.loomcard.yarn.rounds.WaitReasons;
import org.loomcard.yarn.wire.ApplicationRecord;
import org.loomcard.yarn.wire.AskRecord;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.ContainerRecord;
import org.loomcard.yarn.wire.PlanMessage;
import org.loomcard.yarn.wire.Refusal;

/**
 * Replaces YARN's state by one node and one application: enough for a policy to decide and to be
 * counted. Slots are containers of 1024 MB.
 */
public final class TinySchedulerState implements SchedulerState {
  static final int SLOTS = 8;
  private static final long[] SIZE = {1024, 1};
  private final List<Refusal> refusals = new ArrayList<>();
  private final List<Long> numbers = new ArrayList<>();
  private final List<Long> ended = new ArrayList<>();
  private final List<Long> given = new ArrayList<>();
  private final TreeMap<Long, String> running = new TreeMap<>();
  private long nextContainer = 1;
  private long nextNumber = 1;
  private long firstOfPlan;
  private long plan;
  private int wanted;
  private boolean askChanged;
  private boolean planHadDecisions;
  private PolicyConfig policyConfig;
  private boolean refuseConfigurations;
  private boolean refusesAll;
  private int doubleAllocations;
  private int batches;
  private final List<Integer> batchesBefore = new ArrayList<>();
  private boolean trial;
  /** What the next look finds, once. */
  List<StalledAsk> stalled = Collections.emptyList();
  /** The queues that the fallback served, one entry for each time. */
  final List<Set<String>> servedQueues = new ArrayList<>();
  long allocationsByPolicy;
  /** What diagnostics show of the application; null: nothing. */
  volatile String sentence;

  @Override
  public List<StalledAsk> stalled(long nowMs, WaitReasons waits) {
    List<StalledAsk> found = stalled;
    stalled = Collections.emptyList();
    return found;
  }

  @Override
  public int serveStalled(Set<String> queues, long nowMs, WaitReasons waits) {
    servedQueues.add(new TreeSet<>(queues));
    return queues.size();
  }

  @Override
  public void diagnose(Map<Integer, String> sentences) {
    if (sentences.containsKey(1)) {
      sentence = sentences.get(1);
    }
  }

  @Override
  public void diagnoseAll(String text) {
    sentence = text;
  }

  @Override
  public boolean isDiagnosing() {
    return sentence != null;
  }

  @Override
  public long allocationsByPolicy(String queue) {
    return allocationsByPolicy;
  }

  /** Lets the application ask for this many more. */
  public synchronized void ask(int count) {
    wanted += count;
    askChanged = true;
  }

  /** Ends all running containers. */
  synchronized void endAll() {
    ended.addAll(running.keySet());
    running.clear();
  }

  public synchronized int running(String origin) {
    return Collections.frequency(new ArrayList<>(running.values()), origin);
  }

  synchronized int wanted() {
    return wanted;
  }

  synchronized void refuseConfigurations() {
    refuseConfigurations = true;
  }

  /** From now on every decision is refused. */
  public synchronized void refuseAll(boolean all) {
    refusesAll = all;
  }

  @Override
  public synchronized boolean hasPendingEvents() {
    return askChanged || !ended.isEmpty() || !given.isEmpty();
  }

  @Override
  public boolean isUrgent() {
    return hasDemand();
  }

  @Override
  public synchronized boolean hasDemand() {
    return wanted > 0;
  }

  @Override
  public synchronized boolean hasRefusals() {
    return !refusals.isEmpty();
  }

  @Override
  public synchronized void close(BatchWriter out, boolean snapshot) {
    long now = out.nowMs();
    if (snapshot) {
      scratch(out, now);
    } else {
      if (planHadDecisions) {
        long[] allocated = new long[numbers.size()];
        for (int i = 0; i < allocated.length; i++) {
          allocated[i] = numbers.get(i);
        }
        out.outcomes(now, plan, firstOfPlan, allocated, refusals);
      }
      for (long container : given) {
        writeContainer(out, now, container, "fallback");
      }
      for (long container : ended) {
        out.containerCompleted(now, container, "completed", 0, now, now);
      }
      if (askChanged || !given.isEmpty() || !refusals.isEmpty()) {
        writeAsk(out, now);
      }
    }
    clearPendingEvents();
    batches++;
    int left = SLOTS - running.size();
    out.check(1, 1, running.size(), wanted, new long[] {left * 1024, left});
  }

  private void scratch(BatchWriter out, long now) {
    batchesBefore.add(batches);
    int leaf = 0;
    while (!policyConfig.queues.get(leaf).leaf) {
      leaf++;
    }
    out.nodeAdded(now, 1, "n1:1", "/r1", new long[] {SLOTS * 1024, SLOTS}, "", "n1", false);
    out.applicationAdded(now, 1, new ApplicationRecord("application_1_0001", leaf, "alice", "tiny",
        "TEST",
        Collections.<String>emptyList(), 0, 0, Collections.<String, String>emptyMap()));
    out.attemptAdded(now, 1, 1, 1, true);
    out.attemptRegistered(now, 1);
    for (long container : running.keySet()) {
      writeContainer(out, now, container, running.get(container));
    }
    writeAsk(out, now);
  }

  private static void writeContainer(BatchWriter out, long now, long container, String origin) {
    out.containerAdded(now, new ContainerRecord(container, 1, container, 1, SIZE, 20, -1, false,
        origin, new ContainerRecord.Times(now, now, null), ""));
  }

  private void writeAsk(BatchWriter out, long now) {
    out.ask(now, new AskRecord(1, 20, -1, false, SIZE, wanted, new AskRecord.Rows(), true, ""));
  }

  @Override
  public synchronized CommitReport commit(PlanMessage message, boolean late) {
    plan = message.round;
    firstOfPlan = nextContainer;
    planHadDecisions = !message.decisions.isEmpty();
    int refused = 0;
    for (int i = 0; i < message.decisions.size(); i++) {
      PlanMessage.Allocate allocate = (PlanMessage.Allocate) message.decisions.get(i);
      int allocated = 0;
      boolean whole = late || refusesAll;
      while (!whole && allocated < allocate.count && wanted > 0 && running.size() < SLOTS) {
        allocate("policy");
        numbers.add(nextNumber - 1);
        allocated++;
      }
      if (allocated < allocate.count) {
        refusals.add(new Refusal(i, allocate.count - allocated, late ? "LATE" : "NODE_FULL"));
        refused += allocate.count - allocated;
      }
    }
    return new CommitReport(numbers.size(), 0, refused);
  }

  private void allocate(String origin) {
    if (running.put(nextContainer++, origin) != null) {
      doubleAllocations++;
    }
    nextNumber++;
    wanted--;
  }

  @Override
  public synchronized int fallbackRound() {
    int allocated = 0;
    while (wanted > 0 && running.size() < SLOTS) {
      allocate("fallback");
      given.add(nextContainer - 1);
      allocated++;
    }
    return allocated;
  }

  @Override
  public synchronized void check(PolicyConfig next) throws ConfigRefusedException {
    if (refuseConfigurations) {
      throw new ConfigRefusedException("queue root.default has live applications",
          Collections.singletonList("application_1_0001"));
    }
  }

  @Override
  public synchronized void apply(PolicyConfig next, int version) throws ConfigRefusedException {
    check(next);
    policyConfig = next;
  }

  @Override
  public synchronized void beginTrial() {
    trial = true;
  }

  @Override
  public synchronized void endTrial() {
    trial = false;
  }

  /** Returns whether a configuration is being tried. */
  synchronized boolean isTrial() {
    return trial;
  }

  @Override
  public synchronized void clearPendingEvents() {
    numbers.clear();
    refusals.clear();
    ended.clear();
    given.clear();
    askChanged = false;
    planHadDecisions = false;
  }

  /** Returns how many snapshots were sent. */
  synchronized int snapshots() {
    return batchesBefore.size();
  }

  /** Returns how many batches had been sent before the snapshot of this number, counted from 1. */
  synchronized int batchesBeforeSnapshot(int number) {
    return batchesBefore.get(number - 1);
  }

  synchronized PolicyConfig policyConfig() {
    return policyConfig;
  }
}
