package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.util.Arrays;
import org.junit.Test;
import org.loomcard.yarn.config.BridgeConfig;

/** The whole bridge against a real Python process that works or misbehaves. */
public class BridgeTest extends BridgeTestBase {

  /**
   * A caller gets an answer before the configuration is loaded, as while a ResourceManager becomes
   * active.
   */
  @Test
  public void aCallBeforeTheStartIsAnswered() throws Exception {
    bridge = bridge(false);
    bridge.signal();
    bridge.signalDemand();
    for (ConfigSwapResult early : Arrays.asList(bridge.refresh("tester"), bridge.swap(DRF,
        "drf.yml", null, 10), bridge.dryRun(DRF, "drf.yml", 10))) {
      assertEquals(ConfigSwapResult.Outcome.UNAVAILABLE, early.outcome);
      assertTrue(early.message, early.message.contains("still starting"));
      assertEquals(0, early.version);
    }
    conf.unset(BridgeConfig.POLICY_FILE);
    assertEquals(ConfigSwapResult.Outcome.FAILED, bridge(false).refresh("tester").outcome);
    bridge.load();
    bridge.start();
    ask(1);
    Until.waitUntil("it works all the same", () -> scheduler.running("policy") == 1);
  }

  /** A healthy start: the policy allocates everything, the fallback nothing. */
  @Test
  public void policyAllocationsFromTheFirstContainerOn() throws Exception {
    start(false);
    for (int i = 0; i < 5; i++) {
      ask(TinySchedulerState.SLOTS);
      Until.waitUntil("all slots run", () -> scheduler.running("policy") ==
          TinySchedulerState.SLOTS);
      scheduler.endAll();
      bridge.signal();
    }
    assertEquals(BridgeStatus.State.UP, bridge.status().state);
    Until.waitUntil("all are counted",
        () -> bridge.status().counters.allocated() == 5 * TinySchedulerState.SLOTS);
    assertEquals(0, bridge.status().counters.allocatedByFallback());
    assertEquals(0, bridge.status().counters.resyncs());
    assertEquals("one snapshot, at the start", 1, scheduler.snapshots());
  }

  /** kill -9 of the process: the fallback serves at once, then the policy takes over again. */
  @Test
  public void aKilledProcessIsReplaced() throws Exception {
    start(false);
    ask(2);
    Until.waitUntil("the policy allocated", () -> scheduler.running("policy") == 2);
    fallsBackAndComesBack("KILL");
    assertEquals(1, bridge.status().counters.restarts());
  }

  /** A stopped process is killed at the hard deadline. */
  @Test
  public void aStoppedProcessIsKilledAtTheHardDeadline() throws Exception {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 4000);
    conf.setInt(BridgeConfig.ROUND_HARD_DEADLINE_MS, 6000);
    start(false);
    allocated(2);
    fallsBackAndComesBack("STOP");
    assertTrue(bridge.status().lastFailure,
        bridge.status().lastFailure.contains("no reply within 6000 ms"));
  }

  /** A reply that is not a plan opens the breaker, with the reason. */
  @Test
  public void garbageOpensTheBreaker() throws Exception {
    misbehaves("garbage", "not JSON");
  }

  /** An error reply opens the breaker, and the process's own traceback is kept. */
  @Test
  public void anErrorOpensTheBreakerWithItsTraceback() throws Exception {
    misbehaves("error", "the misbehaving process's own words");
  }

  /** A plan for another round does not count for this round. */
  @Test
  public void aPlanOfAnotherRoundOpensTheBreaker() throws Exception {
    misbehaves("round", "expected round");
  }

  /** A process that ends during a round has allocated nothing. */
  @Test
  public void deathInTheMiddleOfARoundOpensTheBreaker() throws Exception {
    misbehaves("die", "it ended with status 3");
  }

  /** What one policy raises is shown, and does not take the cluster from the other policies. */
  @Test
  public void aFaultIsOneQueuesAffair() throws Exception {
    conf.setInt(BridgeConfig.BREAKER_FAILURES, 1);
    start(true);
    Until.waitUntil("up", () -> bridge.status().counters.rounds() > 0);
    write("orders", "fault");
    ask(2);
    Until.waitUntil("the rest of the plan stands", () -> scheduler.running("policy") == 2);
    Until.waitUntil("it is counted", () -> bridge.status().counters.faults() > 0);
    Until.waitUntil("it is shown", () -> !bridge.status().faults.isEmpty());
    assertEquals("root.default", bridge.status().faults.get(0).queue);
    assertEquals("ValueError: no", bridge.status().faults.get(0).message);
    assertEquals(0, bridge.status().counters.failures());
    assertEquals(BridgeStatus.State.UP, bridge.status().state);
  }

  /** A process of another version never decides; the fallback serves after the grace. */
  @Test
  public void anotherSchemaIsRefused() throws Exception {
    conf.setInt(BridgeConfig.START_GRACE_MS, 300);
    write("orders", "schema");
    start(true);
    ask(2);
    Until.waitUntil("the fallback allocated", () -> scheduler.running("fallback") == 2);
    Until.waitUntil("the reason is reported",
        () -> bridge.status().lastFailure.contains("speaks schema 9"));
    assertEquals(0, bridge.status().counters.rounds());
    assertTrue(orders.delete());
    comesBack();
  }

  /** A late plan is refused whole; the fallback has already allocated what it contains. */
  @Test
  public void aLatePlanIsRefusedWhole() throws Exception {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 4000);
    start(true);
    Until.waitUntil("up", () -> bridge.status().counters.rounds() > 0);
    long late = bridge.status().counters.late();
    write("orders", "gated once");
    ask(3);
    Until.waitUntil("the fallback allocated", () -> scheduler.running("fallback") == 3);
    write("orders.gate", "");
    Until.waitUntil("late", () -> bridge.status().counters.late() == late + 1);
    assertEquals(3, scheduler.running("fallback"));
    assertEquals("refused", 3, bridge.status().counters.refused());
    ask(1);
    Until.waitUntil("the policy decides again", () -> scheduler.running("policy") == 1);
    assertEquals("nothing is allocated twice", 3, scheduler.running("fallback"));
    assertEquals(0, bridge.status().counters.failures());
    assertEquals("its mirror was right", 0, bridge.status().counters.resyncs());
  }

  /** Late plans in a row open the breaker. */
  @Test
  public void latePlansInARowOpenTheBreaker() throws Exception {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 3000);
    conf.setInt(BridgeConfig.BREAKER_FAILURES, 2);
    misbehaves("late", "2 bad rounds in a row");
  }

  /** A wake-up that a policy requested is a record in a batch of its own, with no other news. */
  @Test
  public void aWakeUpIsARoundOfItsOwn() throws Exception {
    write("orders", "wake");
    start(true);
    Until.waitUntil("woken again and again", () -> heard("[\"timer\",") >= 3);
    assertEquals("nothing else is wrong", 0, bridge.status().counters.resyncs());
  }

  /** What a policy saved is given back to the next process and to the next RM. */
  @Test
  public void whatAPolicySavedIsGivenBack() throws Exception {
    write("orders", "save");
    start(true);
    Until.waitUntil("saved", () -> new File(folder.getRoot(), "state/saved.json").exists());
    assertEquals(0, heard("\"learnt\":7"));
    signalProcess("KILL");
    Until.waitUntil("given back", () -> heard("\"learnt\":7") == 1);
    bridge.stop();
    start(true);
    Until.waitUntil("given back to the next RM", () -> heard("\"learnt\":7") == 2);
  }

  /** A stop in the middle of a start leaves nothing behind. */
  @Test
  public void aStopDuringTheStartLeavesNothing() throws Exception {
    start(false);
    bridge.stop();
    Until.waitUntil("the folder is gone", () -> privateFolders() == 0);
    assertEquals(BridgeStatus.State.STOPPED, bridge.status().state);
  }

  /** When the bridge ends, the process, its secret and its folder are gone. */
  @Test
  public void nothingIsLeftBehind() throws Exception {
    start(false);
    Until.waitUntil("up", () -> bridge.status().state == BridgeStatus.State.UP);
    File process = new File("/proc/" + pid());
    assertTrue(process.exists());
    bridge.stop();
    Until.waitUntil("the process is gone", () -> !process.exists());
    assertEquals(0, privateFolders());
  }

  /** 200 MB on standard output without a line's end harm nothing, not even the policy. */
  @Test
  public void aPolicyThatPrintsALotGoesOn() throws Exception {
    start(true);
    allocated(2);
    write("orders", "flood once");
    ask(3);
    Until.waitUntil("it printed and allocated", () -> !orders.exists()
        && scheduler.running("policy") + scheduler.running("fallback") == 5);
    ask(1);
    Until.waitUntil("and allocates on", () -> scheduler.wanted() == 0
        && bridge.status().state == BridgeStatus.State.UP);
    assertEquals(0, bridge.status().counters.failures());
  }

  /** A reply beyond the limit opens the breaker, with the setting's name. */
  @Test
  public void aHugeReplyOpensTheBreaker() throws Exception {
    conf.setInt(BridgeConfig.PROCESS_MAX_REPLY_MB, 1);
    misbehaves("huge", "the reply is longer than 1 MiB (loomcard.process.max-reply-mb)");
  }

  /** Only the policy that wants more memory than allowed fails; another process follows. */
  @Test
  public void aGluttonOpensTheBreaker() throws Exception {
    conf.setInt(BridgeConfig.PROCESS_MAX_MEMORY_MB, 1024);
    misbehaves("glutton", "MemoryError");
  }
}
