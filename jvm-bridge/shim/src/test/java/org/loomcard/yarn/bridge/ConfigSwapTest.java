package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.Test;
import org.loomcard.yarn.config.BridgeConfig;

/** Swaps of the policy configuration while the bridge runs, against a real Python process. */
public class ConfigSwapTest extends BridgeTestBase {
  /** The deadline of each step of a swap in tests that are not about deadlines. */
  private static final int DEADLINE_MS = 80_000;

  /**
   * A swapped-in configuration is used at once, is kept beside the YAML, and survives a restart.
   */
  @Test
  public void aSwapIsAppliedAndSurvivesARestart() throws Exception {
    start(false);
    ask(2);
    Until.waitUntil("allocated", () -> scheduler.running("policy") == 2);
    ConfigSwapResult result = bridge.swap(DRF, "drf.yml", null, DEADLINE_MS);
    assertTrue(result.toString(), result.isApplied());
    assertEquals(2, result.version);
    assertEquals("drf", scheduler.policyConfig().queue("root.default").policy);
    assertEquals(DRF, read("policy.yml"));
    assertEquals(FIFO, read("policy.yml.previous"));
    assertEquals("the running containers are still there", 2, scheduler.running("policy"));
    ask(2);
    Until.waitUntil("allocated after the swap", () -> scheduler.running("policy") == 4);
    assertEquals(0, bridge.status().counters.failures());
    assertEquals(0, bridge.status().counters.allocatedByFallback());
    bridge.stop();
    write("policy.yml", FIFO);
    bridge = bridge(false);
    bridge.load();
    assertEquals("the edited file is not applied by itself", result.hash,
        bridge.status().applied.policyConfig.hash);
    bridge.start();
    Until.waitUntil("up again", () -> bridge.status().state == BridgeStatus.State.UP);
    assertEquals("refresh reads the file", "fifo", refreshed().queue("root.default").policy);
    assertEquals(3, bridge.status().applied.version);
  }

  /** A YAML with errors changes nothing and lists them with their lines. */
  @Test
  public void aSwapWithFindingsChangesNothing() throws Exception {
    start(false);
    ConfigSwapResult result = bridge.swap("version: 1\nkind: policy\npolicy: drv\nweight: x\n",
        "bad.yml", null, DEADLINE_MS);
    assertEquals(ConfigSwapResult.Outcome.FINDINGS, result.outcome);
    assertTrue(result.toString(), result.findings.size() >= 2);
    assertEquals(3, result.findings.get(0).line);
    assertUnchanged(result);
  }

  /** If the scheduler state refuses, the old policy configuration stays, on disk too. */
  @Test
  public void aRefusedSwapChangesNothing() throws Exception {
    start(false);
    scheduler.refuseConfigurations();
    ConfigSwapResult result = bridge.swap(DRF, "drf.yml", null, DEADLINE_MS);
    assertEquals(ConfigSwapResult.Outcome.REFUSED, result.outcome);
    assertEquals(Arrays.asList("application_1_0001"), result.applications);
    assertUnchanged(result);
  }

  /** Without Python no YAML can be read, and the answer says so. */
  @Test
  public void aSwapWithoutPythonIsRefused() throws Exception {
    start(false);
    Until.waitUntil("up", () -> bridge.status().state == BridgeStatus.State.UP);
    starts.acquire();
    ConfigSwapResult result = bridge.swap(DRF, "drf.yml", null, 3000);
    starts.release();
    assertEquals(ConfigSwapResult.Outcome.UNAVAILABLE, result.outcome);
    assertTrue(result.message, result.message.contains("not ready in time"));
    assertTrue(result.message, result.message.contains("the start of a policy process"));
    assertTrue(result.message, result.message.contains(BridgeConfig.SWAP_DEADLINE_MS));
    assertUnchanged(result);
  }

  /** A swap starts a process of its own, and so helps a cluster that has none. */
  @Test
  public void aSwapNeedsNoLiveProcess() throws Exception {
    conf.setInt(BridgeConfig.RESTART_BACKOFF_MS, 600_000);
    conf.setInt(BridgeConfig.RESTART_BACKOFF_MAX_MS, 600_000);
    start(false);
    Until.waitUntil("up", () -> bridge.status().state == BridgeStatus.State.UP);
    signalProcess("KILL");
    Until.waitUntil("down", () -> bridge.status().state == BridgeStatus.State.FALLBACK);
    ConfigSwapResult result = bridge.swap(DRF, "drf.yml", null, DEADLINE_MS);
    assertTrue(result.toString(), result.isApplied());
    assertEquals(BridgeStatus.State.UP, bridge.status().state);
    ask(2);
    Until.waitUntil("the policy allocates", () -> scheduler.running("policy") == 2);
  }

  /**
   * A module that takes long to import delays nothing: the old policies decide until it is ready.
   */
  @Test
  public void aSlowImportStopsNothing() throws Exception {
    File gate = gatedPolicy();
    start(false);
    AtomicReference<ConfigSwapResult> result = new AtomicReference<>();
    new Thread(() -> result.set(bridge.swap(OWN, "own.yml", null, DEADLINE_MS))).start();
    Until.waitUntil("importing", () -> new File(gate + ".reached").exists());
    ask(3);
    Until.waitUntil("the old policy allocates", () -> scheduler.running("policy") == 3);
    assertEquals(1, bridge.status().applied.version);
    assertTrue(gate.createNewFile());
    Until.waitUntil("the swap has ended", () -> result.get() != null);
    assertTrue(String.valueOf(result.get()), result.get().isApplied());
    assertEquals(0, bridge.status().counters.allocatedByFallback());
    assertEquals(0, bridge.status().counters.failures());
  }

  /** A slow start of the process takes no time from the imports: each has the whole deadline. */
  @Test
  public void aSlowStartLeavesTimeForASlowImport() throws Exception {
    File gate = gatedPolicy();
    start(false);
    Until.waitUntil("up", () -> bridge.status().state == BridgeStatus.State.UP);
    starts.acquire();
    AtomicReference<ConfigSwapResult> result = new AtomicReference<>();
    AtomicLong clock = new AtomicLong();
    AtomicInteger looks = new AtomicInteger();
    ConfigSwap swap = new ConfigSwap(OWN, "own.yml", null, DEADLINE_MS, false, () -> {
      looks.incrementAndGet();
      return clock.get();
    });
    Thread swapping = new Thread(() -> result.set(bridge.ask(swap)));
    swapping.start();
    Until.waitUntil("a process is to be started", starts::hasQueuedThreads);
    clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(DEADLINE_MS - 1));
    starts.release();
    Until.waitUntil("importing", () -> new File(gate + ".reached").exists());
    clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(DEADLINE_MS - 1));
    int before = looks.get();
    Until.waitUntil("the requester has looked at the time", () -> looks.get() > before + 1);
    assertTrue(gate.createNewFile());
    Until.waitUntil("the swap has ended", () -> result.get() != null);
    assertTrue(String.valueOf(result.get()), result.get().isApplied());
  }

  /** An import that never ends is stopped, and the answer names the setting. */
  @Test
  public void anEndlessImportIsEnded() throws Exception {
    gatedPolicy();
    start(false);
    ConfigSwapResult result = bridge.swap(OWN, "own.yml", null, 15_000);
    assertTrue(result.message, result.message.contains("no reply within 15000 ms ("
        + BridgeConfig.SWAP_DEADLINE_MS + ")"));
    assertUnchanged(result);
    goesOnAsBefore();
  }

  /** A policy that raises in its first round is never used; the answer says what it raised. */
  @Test
  public void aFirstRoundThatRaisesIsTakenBack() throws Exception {
    policyFile("", "raise ValueError('not today')");
    takesBack("ValueError: not today");
  }

  /**
   * A policy that hangs in its first round is killed when the time of a round is over, because its
   * plan would come too late anyway. The earlier policies continue.
   */
  @Test
  public void aFirstRoundThatHangsIsTakenBack() throws Exception {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 4000);
    conf.setInt(BridgeConfig.ROUND_HARD_DEADLINE_MS, 3_600_000);
    policyFile("import time\n", "time.sleep(3600)");
    takesBack("(" + BridgeConfig.ROUND_DEADLINE_MS + ")");
  }

  /** If the new process dies in the first round, the earlier process still decides. */
  @Test
  public void aFirstRoundThatDiesIsTakenBack() throws Exception {
    policyFile("import os\n", "os._exit(3)");
    takesBack("it ended with status 3");
  }

  /** A configuration that cannot be kept on disk is not used. */
  @Test
  public void whatCannotBeKeptIsTakenBack() throws Exception {
    policyFile("", "return Plan(view)");
    start(false);
    ask(2);
    Until.waitUntil("allocated", () -> scheduler.running("policy") == 2);
    assertTrue(new File(folder.getRoot(), "state/applied.json/full").mkdirs());
    ConfigSwapResult result = bridge.swap(OWN, "own.yml", null, DEADLINE_MS);
    assertEquals(ConfigSwapResult.Outcome.FAILED, result.outcome);
    assertTrue(result.message, result.message.contains("cannot be kept"));
    goesOnAsBefore();
  }

  /** A policy that raises later is replaced for its queue by a plain one, in its own process. */
  @Test
  public void aPolicyThatRaisesIsReplacedForItsQueue() throws Exception {
    policyFile("", "if view.asks:\n            raise ValueError('not with asks')\n"
        + "        return Plan(view)");
    start(false);
    ConfigSwapResult result = bridge.swap(OWN, "own.yml", null, DEADLINE_MS);
    assertTrue(result.toString(), result.isApplied());
    ask(3);
    Until.waitUntil("allocated all the same", () -> scheduler.running("policy") == 3);
    assertTrue(bridge.status().faults.get(0).message.endsWith("ValueError: not with asks"));
    assertTrue(bridge.status().faults.get(0).traceback.contains("own.py"));
    assertEquals(0, bridge.status().counters.failures());
    assertEquals(0, bridge.status().counters.allocatedByFallback());
  }

  /** A process that starts again and cannot load a policy continues without it. */
  @Test
  public void aPolicyThatCannotBeLoadedAgainIsReplacedForItsQueue() throws Exception {
    File worn = new File(folder.getRoot(), "worn");
    policyFile("import pathlib\nif pathlib.Path('" + worn + "').exists():\n"
        + "    raise OSError('worn out')\n", "return Plan(view)");
    start(false);
    Until.waitUntil("no start is under way that would end the fallback's time too early",
        () -> bridge.status().state == BridgeStatus.State.UP);
    ConfigSwapResult result = bridge.swap(OWN, "own.yml", null, DEADLINE_MS);
    assertTrue(result.toString(), result.isApplied());
    assertTrue(worn.createNewFile());
    fallsBackAndComesBack("KILL");
    Until.waitUntil("the fault is known", () -> !bridge.status().faults.isEmpty());
    assertTrue(bridge.status().faults.get(0).message.contains("worn out"));
    assertEquals("one process alone has failed", 1, bridge.status().counters.failures());
  }

  private void takesBack(String reason) throws Exception {
    start(false);
    allocated(2);
    long before = bridge.status().counters.rounds();
    ConfigSwapResult result = bridge.swap(OWN, "own.yml", null, DEADLINE_MS);
    assertEquals(result.toString(), ConfigSwapResult.Outcome.FAILED, result.outcome);
    assertTrue(result.message, result.message.contains(reason));
    assertUnchanged(result);
    Until.waitUntil("a policy has answered, so the fallback does not serve beside it",
        () -> bridge.status().counters.rounds() > before);
    goesOnAsBefore();
  }

  /**
   * Writes a policy whose import reports that it has begun and waits for a file; returns that file.
   */
  private File gatedPolicy() throws Exception {
    File gate = new File(folder.getRoot(), "gate");
    policyFile("import pathlib, time\n"
        + "pathlib.Path('" + gate + ".reached').touch()\n"
        + "while not pathlib.Path('" + gate + "').exists():\n    time.sleep(0.01)\n",
        "return Plan(view)");
    return gate;
  }
}
