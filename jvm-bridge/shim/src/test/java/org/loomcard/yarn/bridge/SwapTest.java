package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import org.junit.Test;

/** Swaps of the set-up while the bridge runs, against a real Python process. */
public class SwapTest extends BridgeTestBase {

  /** A swap governs at once, is kept beside the YAML, and survives a restart. */
  @Test
  public void aSwapIsAppliedAndSurvivesARestart() throws Exception {
    start(false);
    ask(2);
    Until.waitUntil("granted", () -> books.running("policy") == 2);
    SwapResult result = bridge.swap(DRF, "drf.yml", 30_000);
    assertTrue(result.toString(), result.isApplied());
    assertEquals(2, result.version);
    assertEquals("drf", books.setup().queue("root.default").policy);
    assertEquals(DRF, read("policy.yml"));
    assertEquals(FIFO, read("policy.yml.previous"));
    assertEquals("the running containers are still there", 2, books.running("policy"));
    ask(2);
    Until.waitUntil("granted after the swap", () -> books.running("policy") == 4);
    assertEquals(0, bridge.status().counters.failures());
    assertEquals(0, bridge.status().counters.grantedByFallback());
    bridge.stop();
    write("policy.yml", FIFO);
    bridge = bridge(false);
    assertEquals("the edited file is not applied by itself", result.hash, bridge.load().setup.hash);
    bridge.start();
    Until.waitUntil("up again", () -> bridge.status().state == BridgeStatus.State.UP);
    assertEquals("refresh reads the file", "fifo", refreshed().queue("root.default").policy);
    assertEquals(3, bridge.status().applied.version);
  }

  /** A YAML with errors changes nothing and lists them with their lines. */
  @Test
  public void aSwapWithFindingsChangesNothing() throws Exception {
    start(false);
    SwapResult result = bridge.swap("version: 1\nkind: policy\npolicy: drv\nweight: x\n",
        "bad.yml", 30_000);
    assertEquals(SwapResult.Outcome.FINDINGS, result.outcome);
    assertTrue(result.toString(), result.findings.size() >= 2);
    assertEquals(3, result.findings.get(0).line);
    assertUnchanged(result);
  }

  /** Books that refuse keep the old set-up, on disk too. */
  @Test
  public void aRefusedSwapChangesNothing() throws Exception {
    start(false);
    books.refuseSetups();
    SwapResult result = bridge.swap(DRF, "drf.yml", 30_000);
    assertEquals(SwapResult.Outcome.REFUSED, result.outcome);
    assertEquals(Arrays.asList("application_1_0001"), result.applications);
    assertUnchanged(result);
  }

  /** Without Python nothing reads YAML, and the answer says so. */
  @Test
  public void aSwapWithoutPythonIsRefused() throws Exception {
    conf.setInt(BridgeConfig.RESTART_BACKOFF_MS, 60_000);
    conf.setInt(BridgeConfig.RESTART_BACKOFF_MAX_MS, 60_000);
    start(false);
    Until.waitUntil("up", () -> bridge.status().state == BridgeStatus.State.UP);
    signalProcess("KILL");
    Until.waitUntil("down", () -> bridge.status().state == BridgeStatus.State.FALLBACK);
    SwapResult result = bridge.swap(DRF, "drf.yml", 30_000);
    assertEquals(SwapResult.Outcome.UNAVAILABLE, result.outcome);
    assertTrue(result.message, result.message.contains("the policy process is down"));
    assertUnchanged(result);
  }
}
