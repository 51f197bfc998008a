package org.loomcard.yarn.commit;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.junit.Test;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.rounds.StalledAsk;
import org.loomcard.yarn.rounds.WaitReasons;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.wire.PlanMessage;

/**
 * An ask is stalled if it could be served for a whole deadline and got nothing. The test itself
 * sets the clock of the looks.
 */
public class ProgressTest extends SchedulerTestBase {
  private static final long DEADLINE_MS = 1_600_000;
  private static final long LOOK_MS = DEADLINE_MS / 16;
  private static final long LONGEST_MS = 16_000_000;
  private final WaitReasons waits = new WaitReasons();
  private MockNM nm;
  private MockAM am;
  private Progress progress;
  /** Far from the engine's own clock, which gives the times of allocations. */
  private long nowMs = 1_000_000_000L;

  @Override
  protected void more(YarnConfiguration settings) {
    settings.setLong(BridgeConfig.PROGRESS_DEADLINE_MS, DEADLINE_MS);
    settings.setLong(BridgeConfig.PROGRESS_LONGEST_WAIT_MS, LONGEST_MS);
  }

  private void start() throws Exception {
    startRm();
    nm = node("h1", 4096, 8);
    RMApp app = submit(application().withUnmanagedAM(true));
    rm.waitForState(app.getApplicationId(), RMAppState.ACCEPTED);
    am = MockRM.launchUAM(app, rm, nm);
    am.registerAppAttempt();
    ReentrantLock lock = new ReentrantLock();
    progress = new Progress(scheduler.cluster(),
        new PlanCommitter(scheduler.cluster(), lock, null, scheduler.metrics()),
        Resource.newInstance(1024, 0), lock, System::nanoTime, new BridgeConfig(conf));
    read();
  }

  private List<StalledAsk> look() {
    nowMs += LOOK_MS;
    return progress.look(nowMs, waits);
  }

  /** Returns what is found within this many deadlines and a half. */
  private List<StalledAsk> lookFor(int deadlines) {
    List<StalledAsk> found = Collections.emptyList();
    for (int looks = 0; found.isEmpty() && looks < deadlines * 16 + 8; looks++) {
      found = look();
    }
    return found;
  }

  private LoomcardAttempt attempt() {
    return (LoomcardAttempt) scheduler.getApplicationAttempt(am.getApplicationAttemptId());
  }

  private void state(String reason, Long untilMs) {
    waits.update(Collections.singletonList(
        new PlanMessage.Wait(attempt().number(), 5, -1, reason, untilMs)),
        Collections.<PlanMessage.QueueWait>emptyList());
  }

  /**
   * A stall is found not before the deadline, and soon after it, though a look may run out of time
   * on a busy machine. Then the fallback serves only that queue.
   */
  @Test
  public void whatFitsForAWholeDeadlineIsStalled() throws Exception {
    start();
    ask(am, 1024, 5, 2);
    state("BUSY", null);
    for (int looks = 0; looks < 16; looks++) {
      assertEquals("look " + looks, 0, look().size());
    }
    StalledAsk stalled = lookFor(1).get(0);
    assertEquals("root.default", stalled.queue);
    assertTrue(stalled.waitedMs >= DEADLINE_MS && stalled.waitedMs <= DEADLINE_MS + LOOK_MS);
    assertTrue(stalled.toString(), stalled.toString().contains("policy's reason: BUSY"));
    assertEquals(0, progress.serve(Collections.singleton("root.other"), nowMs, waits));
    assertEquals(2, progress.serve(Collections.singleton("root.default"), nowMs, waits));
    assertEquals(Collections.emptyList(), lookFor(1));
  }

  /** What is said about a stall stays in the diagnostics when no sentence is due any more. */
  @Test
  public void aStallStaysInTheDiagnostics() throws Exception {
    start();
    ask(am, 1024, 5, 1);
    Diagnostics diagnostics = new Diagnostics();
    diagnostics.show(attempt().application(), "It waits.");
    lookFor(2).get(0).diagnose("It has stalled.");
    diagnostics.show(attempt().application(), null);
    assertEquals("It has stalled.", attempt().appAttempt().getDiagnostics());
    diagnostics.show(attempt().application(), "It waits again.");
    diagnostics.show(attempt().application(), null);
    assertEquals("", attempt().appAttempt().getDiagnostics());
  }

  /** While plans are as large as plans may be, an ask can wait for its turn. */
  @Test
  public void aPolicyThatAllocatesAsFastAsItCanIsNotStalled() throws Exception {
    start();
    ask(am, 1024, 5, 2);
    waits.setBusy(true);
    assertEquals(Collections.emptyList(), lookFor(3));
    waits.setBusy(false);
    for (int looks = 0; looks < 16; looks++) {
      assertEquals("look " + looks, 0, look().size());
    }
    assertEquals(1, lookFor(1).size());
  }

  /** Asks larger than any node, and those that a limit forbids, are no stalls. */
  @Test
  public void whatCannotBeServedIsNotStalled() throws Exception {
    start();
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 7, 1), node(nm), 1));
    ask(am, 4096, 5, 1);
    assertEquals(Collections.emptyList(), lookFor(2));
  }

  /** Room that is taken between two looks was not idle, though each look sees some. */
  @Test
  public void roomThatComesAndGoesIsNotIdle() throws Exception {
    start();
    node("h2", 1024, 8);
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 7, 1), node(nm), 1));
    ask(am, 2048, 5, 1);
    for (int looks = 0; looks < 40; looks++) {
      rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 6, 2), node(nm), 2));
      List<ContainerId> ended = new ArrayList<>();
      for (Container container : collect(am)) {
        ended.add(container.getId());
      }
      am.allocate(new ArrayList<>(), ended);
      rm.drainEvents();
      assertEquals("look " + looks, Collections.emptyList(), look());
    }
    assertEquals("it stays free now", 1, lookFor(1).size());
  }

  /** A rule that the policy states excuses it until the stated time. */
  @Test
  public void aStatedRuleIsBelievedUntilItsTime() throws Exception {
    start();
    ask(am, 1024, 5, 1);
    state("SHARE", nowMs + 3 * DEADLINE_MS);
    long untilMs = nowMs + 3 * DEADLINE_MS;
    assertEquals(1, lookFor(5).size());
    assertTrue(nowMs >= untilMs + DEADLINE_MS);
    assertTrue(nowMs <= untilMs + DEADLINE_MS + 2 * LOOK_MS);
  }

  /**
   * A rule that is stated repeatedly is believed only for the longest wait, with or without breaks.
   */
  @Test
  public void aRuleForEverIsNotBelieved() throws Exception {
    start();
    ask(am, 1024, 5, 1);
    long beganMs = nowMs;
    List<StalledAsk> found = Collections.emptyList();
    for (int looks = 0; found.isEmpty() && looks < 400; looks++) {
      state("SHARE", looks % 12 < 10 ? nowMs + DEADLINE_MS : null);
      found = look();
    }
    assertEquals(1, found.size());
    assertTrue(nowMs - beganMs >= LONGEST_MS);
    assertTrue(nowMs - beganMs <= LONGEST_MS + DEADLINE_MS + 3 * LOOK_MS);
    assertEquals(1, progress.serve(Collections.singleton("root.default"), nowMs, waits));
  }

  /**
   * What the fallback allocates to one ask is not a share that excuses the lie about another ask.
   */
  @Test
  public void allAsksThatALieKeptAreServedTogether() throws Exception {
    start();
    ask(am, 1024, 5, 1);
    ask(am, 1024, 6, 1);
    List<StalledAsk> found = Collections.emptyList();
    for (int looks = 0; found.isEmpty() && looks < 400; looks++) {
      waits.update(Arrays.asList(
          new PlanMessage.Wait(attempt().number(), 5, -1, "SHARE", nowMs + DEADLINE_MS),
          new PlanMessage.Wait(attempt().number(), 6, -1, "SHARE", nowMs + DEADLINE_MS)),
          Collections.<PlanMessage.QueueWait>emptyList());
      found = look();
    }
    assertEquals(1, found.size());
    assertEquals(2, progress.serve(Collections.singleton("root.default"), nowMs, waits));
  }

  /**
   * An application with a container besides the AM has a share of its own, and may be kept at it.
   */
  @Test
  public void aRuleIsBelievedOfWhoHoldsSomething() throws Exception {
    start();
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 2), node(nm), 1));
    for (int looks = 0; looks < 16 * 20; looks++) {
      waits.update(Collections.<PlanMessage.Wait>emptyList(), Collections.singletonList(
          new PlanMessage.QueueWait(0, "SLOTS", nowMs + DEADLINE_MS)));
      assertEquals("look " + looks, Collections.emptyList(), look());
    }
  }

  /** When the policy allocates to an ask, its wait begins anew. */
  @Test
  public void whatIsServedNowAndThenIsNotStalled() throws Exception {
    start();
    ask(am, 1024, 5, 3);
    nowMs = 0; // before the engine's own clock, so that the allocation below is later
    for (int looks = 0; looks < 12; looks++) {
      assertEquals(Collections.emptyList(), look());
    }
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 3), node(nm), 1));
    LoomcardAttempt attempt =
        (LoomcardAttempt) scheduler.getApplicationAttempt(am.getApplicationAttemptId());
    long servedMs = attempt.servedMs(attempt.getSchedulerKeys().iterator().next());
    assertTrue("noted", servedMs >= 0);
    nowMs = servedMs;
    assertEquals(1, lookFor(1).size());
    assertTrue(nowMs >= servedMs + DEADLINE_MS);
  }

  /** An AM that asks for one container at a time, and gets each, waits for none. */
  @Test
  public void whoAsksForOneAtATimeAndIsServedIsNotStalled() throws Exception {
    start();
    LoomcardAttempt attempt =
        (LoomcardAttempt) scheduler.getApplicationAttempt(am.getApplicationAttemptId());
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 1), node(nm), 1));
    long servedMs = attempt.servedMs(SchedulerRequestKey.create(
        am.createResourceReq("*", 1024, 5, 1, null)));
    nowMs = servedMs - DEADLINE_MS; // each look, except in the last half deadline, was before that
    ask(am, 1024, 5, 1);
    assertEquals(Collections.emptyList(), lookFor(1));
    assertTrue("looked beyond a deadline", nowMs >= servedMs);
    assertEquals(1, lookFor(1).size());
    assertTrue(nowMs >= servedMs + DEADLINE_MS);
  }
}
