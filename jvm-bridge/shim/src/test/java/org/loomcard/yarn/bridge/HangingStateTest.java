package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;
import static org.mockito.Mockito.mock;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.After;
import org.junit.Test;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.config.LocalStateStore;
import org.loomcard.yarn.config.StateStore;
import org.mockito.AdditionalAnswers;
import org.mockito.stubbing.Answer;

/** A store of the applied configuration that hangs: the policies still decide. */
public class HangingStateTest extends BridgeTestBase {
  private volatile CountDownLatch disk = new CountDownLatch(0);
  private volatile boolean reached;

  /** The local files, on a disk that can hang when something is written or deleted. */
  private StateStore hangingKeeper() {
    Answer<Object> files = AdditionalAnswers.delegatesTo(
        new LocalStateStore(new BridgeConfig(conf).stateDir));
    return mock(StateStore.class, call -> {
      String method = call.getMethod().getName();
      if (method.equals("write") || method.equals("delete")) {
        reached = true;
        disk.await();
      }
      return files.answer(call);
    });
  }

  @After
  public void letGo() {
    disk.countDown();
  }

  private AtomicReference<ConfigSwapResult> swapOnAHangingDisk() throws Exception {
    bridge = bridge(false, hangingKeeper());
    bridge.load();
    bridge.start();
    ask(1);
    Until.waitUntil("allocated", () -> scheduler.running("policy") == 1);
    reached = false;
    disk = new CountDownLatch(1);
    AtomicReference<ConfigSwapResult> result = new AtomicReference<>();
    Thread swap = new Thread(() -> result.set(bridge.swap(DRF, "drf.yml", null, 60_000)));
    swap.setDaemon(true);
    swap.start();
    Until.waitUntil("the first round was good, and it is being written", () -> reached);
    return result;
  }

  private void fallbackDidNothing() {
    assertEquals(0, bridge.status().counters.allocatedByFallback());
    assertEquals(0, bridge.status().counters.overdue());
    assertEquals(0, bridge.status().counters.failures());
    assertEquals(0, bridge.status().counters.resyncs());
  }

  /** The new policies decide while it is written; it is applied when it has been written. */
  @Test
  public void theNewPoliciesDecideWhileTheyAreWritten() throws Exception {
    conf.setInt(BridgeConfig.STATE_DEADLINE_MS, 600_000);
    AtomicReference<ConfigSwapResult> result = swapOnAHangingDisk();
    ask(2);
    Until.waitUntil("allocated by the policy", () -> scheduler.running("policy") == 3);
    assertEquals("it does not govern for good yet", 1, bridge.status().applied.version);
    assertTrue("no application comes into what may vanish", scheduler.isTrial());
    disk.countDown();
    Until.waitUntil("applied", () -> result.get() != null);
    assertTrue(result.get().toString(), result.get().isApplied());
    assertEquals(2, bridge.status().applied.version);
    assertFalse(scheduler.isTrial());
    fallbackDidNothing();
  }

  /**
   * A configuration that cannot be written in time is taken back; the earlier process continues.
   */
  @Test
  public void whatCannotBeWrittenInTimeIsTakenBack() throws Exception {
    conf.setInt(BridgeConfig.STATE_DEADLINE_MS, 4000);
    AtomicReference<ConfigSwapResult> result = swapOnAHangingDisk();
    ask(2);
    Until.waitUntil("allocated by the policy", () -> scheduler.running("policy") == 3);
    Until.waitUntil("taken back", () -> result.get() != null);
    assertEquals(ConfigSwapResult.Outcome.FAILED, result.get().outcome);
    assertTrue(result.get().message, result.get().message.contains("not written within 4000 ms ("
        + BridgeConfig.STATE_DEADLINE_MS + ")"));
    assertUnchanged(result.get());
    assertFalse(scheduler.isTrial());
    ask(1);
    Until.waitUntil("allocated by the policy of before", () -> scheduler.running("policy") == 4);
    fallbackDidNothing();
    disk.countDown();
    ConfigSwapResult again = bridge.swap(DRF, "drf.yml", null, 60_000);
    assertTrue(again.toString(), again.isApplied());
    assertEquals(2, again.version);
  }

  /** A new process that dies while its configuration is written is replaced, and no swap hangs. */
  @Test
  public void aProcessThatDiesMeanwhileIsReplaced() throws Exception {
    conf.setInt(BridgeConfig.STATE_DEADLINE_MS, 600_000);
    AtomicReference<ConfigSwapResult> result = swapOnAHangingDisk();
    String before = pid();
    signalProcess("KILL");
    Until.waitUntil("another process", () -> bridge.status().state == BridgeStatus.State.UP
        && !pid().equals(before));
    int allocated = scheduler.running("policy");
    ask(1);
    Until.waitUntil("it decides", () -> scheduler.running("policy") > allocated);
    disk.countDown();
    Until.waitUntil("applied", () -> result.get() != null);
    assertTrue(result.get().toString(), result.get().isApplied());
    assertEquals("the one of before is gone, too", 1, bridge.status().counters.failures());
    Until.waitUntil("one process is left", () -> privateFolders() == 1);
  }

  /** A stop waits for what is being written, and the answer says how that ended. */
  @Test
  public void aStopAnswersTheSwapUnderWay() throws Exception {
    conf.setInt(BridgeConfig.STATE_DEADLINE_MS, 600_000);
    AtomicReference<ConfigSwapResult> result = swapOnAHangingDisk();
    Thread stop = new Thread(() -> {
      try {
        bridge.stop();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    });
    stop.start();
    Until.waitUntil("it stops", () -> bridge.status().state == BridgeStatus.State.STOPPED);
    disk.countDown();
    Until.waitUntil("answered", () -> result.get() != null);
    assertTrue(result.get().toString(), result.get().isApplied());
    stop.join(60_000);
    assertFalse(stop.isAlive());
    bridge = bridge(false);
    bridge.load();
    assertEquals("it governs after a restart", 2, bridge.status().applied.version);
  }
}
