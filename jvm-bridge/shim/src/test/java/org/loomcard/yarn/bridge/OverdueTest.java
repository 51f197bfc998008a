package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.After;
import org.junit.Test;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.process.PolicyClient;
import org.loomcard.yarn.process.PolicyFailureException;
import org.loomcard.yarn.process.RunningPolicy;
import org.loomcard.yarn.rounds.OverdueFallback;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.Handshake;

/** Nothing that the policy process does, or fails to do, leaves the cluster unserved. */
public class OverdueTest extends BridgeTestBase {
  private final CountDownLatch end = new CountDownLatch(1);

  @After
  public void letGo() {
    end.countDown();
  }

  /**
   * From the soft deadline on the fallback serves while the call is pending. The late plan is
   * refused, and the mirror takes in what the fallback did without a snapshot.
   */
  @Test
  public void theFallbackServesWhileACallIsPending() throws Exception {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 4000);
    conf.setInt(BridgeConfig.ROUND_HARD_DEADLINE_MS, 600_000);
    start(false);
    allocated(2);
    signalProcess("STOP");
    Until.waitUntil("the process does nothing more", this::processDoesNothing);
    ask(3);
    Until.waitUntil("the fallback allocated", () -> scheduler.running("fallback") == 3);
    assertEquals(BridgeStatus.State.OVERDUE, bridge.status().state);
    ask(1);
    Until.waitUntil("what came later too", () -> scheduler.running("fallback") == 4);
    signalProcess("CONT");
    Until.waitUntil("the policy is back",
        () -> bridge.status().state == BridgeStatus.State.UP);
    ask(1);
    Until.waitUntil("the policy allocates", () -> scheduler.running("policy") == 3);
    assertTrue(bridge.status().counters.late() >= 1);
    assertTrue(bridge.status().counters.overdue() >= 1);
    assertEquals(0, bridge.status().counters.failures());
    assertEquals("its mirror was right", 0, bridge.status().counters.resyncs());
    assertEquals("one snapshot, at the start", 1, scheduler.snapshots());
  }

  /** A process that answers nonsense and then nothing, and does not die, delays nothing. */
  @Test
  public void aTracebackIsNotWaitedForLong() throws Exception {
    bridge = bridge(() -> text -> "garbage");
    ask(3);
    Until.waitUntil("the fallback allocated", () -> scheduler.running("fallback") == 3);
    Until.waitUntil("and another process is tried",
        () -> bridge.status().counters.restarts() > 0);
    assertTrue(bridge.status().lastFailure, bridge.status().lastFailure.contains("not JSON"));
  }

  /**
   * Rounds without a result count together: a policy that answers in time, but always uselessly,
   * does not leave the cluster unserved.
   */
  @Test
  public void roundsThatComeToNothingCountTogether() throws Exception {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 1000);
    conf.setInt(BridgeConfig.BREAKER_FAILURES, 1000);
    bridge = bridge(() -> text -> {
      awaitSome(600);
      return "[\"plan\"," + text.split(",")[1]
          + ",[],[],[],{},{},[],[],[],\"nothing is right\",[]]";
    });
    ask(3);
    Until.waitUntil("the fallback allocated", () -> scheduler.running("fallback") == 3);
    assertEquals("the breaker is closed", 0, bridge.status().counters.failures());
    assertTrue(bridge.status().counters.resyncs() >= 1);
  }

  private static void awaitSome(long ms) {
    long until = System.nanoTime() + ms * 1_000_000;
    while (System.nanoTime() < until) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  /** If memory or threads are short at the start of a process, the start is tried again. */
  @Test
  public void anErrorAtTheStartIsNotTheEndOfStarts() throws Exception {
    conf.setInt(BridgeConfig.START_GRACE_MS, 1);
    AtomicInteger tries = new AtomicInteger();
    bridge = bridge(() -> {
      if (tries.incrementAndGet() <= 2) {
        throw new OutOfMemoryError("unable to create native thread");
      }
      return text -> "garbage";
    });
    ask(1);
    Until.waitUntil("the third try comes", () -> tries.get() >= 3);
    Until.waitUntil("the cluster is served", () -> scheduler.running("fallback") == 1);
  }

  /** By default the cluster does not wait for a first process that does not come. */
  @Test
  public void aFirstProcessThatDoesNotComeIsNotWaitedFor() throws Exception {
    conf.unset(BridgeConfig.START_GRACE_MS);
    starts.acquire();
    start(false);
    ask(2);
    Until.waitUntil("the fallback allocated", () -> scheduler.running("fallback") == 2);
    assertEquals(0, bridge.status().counters.rounds());
    starts.release();
    comesBack();
  }

  /** By default each wait of the cluster is shorter than two seconds. */
  @Test
  public void theDefaultsAreShort() {
    conf.unset(BridgeConfig.START_GRACE_MS);
    conf.unset(BridgeConfig.ROUND_DEADLINE_MS);
    BridgeConfig config = new BridgeConfig(conf);
    assertTrue(config.startGraceMs + OverdueFallback.PAUSE_MS < 2000);
    assertTrue(config.roundDeadlineMs + OverdueFallback.PAUSE_MS < 2000);
  }

  /** Refused rounds are not repeated at once, and after some of them the mirror is rebuilt. */
  @Test
  public void refusedRoundsLeadToASnapshot() throws Exception {
    conf.setInt(BridgeConfig.ROUND_REFUSED, 4);
    start(false);
    Until.waitUntil("up", () -> bridge.status().counters.rounds() > 0);
    scheduler.refuseAll(true);
    ask(2);
    Until.waitUntil("the mirror is rebuilt", () -> scheduler.snapshots() >= 2);
    int rounds = scheduler.batchesBeforeSnapshot(2);
    assertTrue("rounds " + rounds, rounds >= 4 && rounds <= 6);
    scheduler.refuseAll(false);
    bridge.signal();
    Until.waitUntil("allocated after all", () -> scheduler.running("policy") == 2);
    assertEquals(0, bridge.status().counters.resyncs());
    assertEquals(0, bridge.status().counters.failures());
  }

  private Bridge bridge(Supplier<Function<String, String>> start) throws Exception {
    BridgeConfig config = new BridgeConfig(conf);
    EngineClock clock = new EngineClock(System.currentTimeMillis());
    Bridge made = new Bridge(config, clock, scheduler, onEnd -> new Immortal(start.get()),
        new Handshake(config, clock.epochMs(), "test", "3.4.2",
            Arrays.asList("memory_mb", "vcores")));
    made.load();
    made.start();
    return made;
  }

  /** Answers the handshake, then any text; never says why it failed, and cannot be ended. */
  private final class Immortal implements RunningPolicy, PolicyClient {
    private final Function<String, String> answer;

    private Immortal(Function<String, String> answer) {
      this.answer = answer;
    }

    @Override
    public PolicyClient client() {
      return this;
    }

    @Override
    public String decide(String text) {
      return text.startsWith("[\"hello\"")
          ? "[\"hello\"," + Handshake.SCHEMA + ",\"3\",\"0\",[]]" : answer.apply(text);
    }

    @Override
    public String lastFailure() throws PolicyFailureException {
      try {
        end.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      throw new PolicyFailureException("never");
    }

    @Override
    public void kill() {
      // It does not die.
    }

    @Override
    public String describe() {
      return "an immortal process";
    }
  }
}
