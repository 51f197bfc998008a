package org.loomcard.yarn.rounds;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.commons.io.IOUtils;
import org.apache.commons.lang3.StringUtils;
import org.apache.hadoop.conf.Configuration;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.loomcard.yarn.bridge.BridgeTest;
import org.loomcard.yarn.bridge.TinySchedulerState;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.process.PolicyClient;
import org.loomcard.yarn.process.PolicyFailureException;
import org.loomcard.yarn.process.RunningPolicy;
import org.loomcard.yarn.process.Watchdog;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.Golden;

/** When a round is wanted, and how long it may take; the test chooses the policy's answers. */
public class PolicyRoundsTest {
  private static final String NOTHING = "";
  private static final String FULL = StringUtils.repeat(' ', 17 << 20);
  private static final long FOR_EVER_MS = 3_600_000;
  private static final String ONE = "[\"allocate\",1,20,-1,1,1,0]";
  private final Configuration conf = new Configuration(false);
  private final TinySchedulerState scheduler = new TinySchedulerState();
  private final BridgeCounters counters = new BridgeCounters();
  private final Watchdog watchdog = new Watchdog();
  private final AtomicLong nanos = new AtomicLong();
  private AppliedConfig applied;
  private PolicyRounds rounds;

  @Before
  public void apply() throws Exception {
    try (InputStream first = BridgeTest.class.getResourceAsStream("first-setup.json")) {
      PolicyConfig policyConfig =
          PolicyConfig.read(IOUtils.toString(first, StandardCharsets.UTF_8));
      applied = new AppliedConfig(policyConfig, 1, null);
      scheduler.apply(policyConfig, 1);
    }
  }

  @After
  public void stop() {
    watchdog.stop();
  }

  private void make() {
    BridgeConfig config = new BridgeConfig(conf);
    EngineClock clock = new EngineClock(System.currentTimeMillis(), nanos::get);
    rounds = new PolicyRounds(config, clock, scheduler, watchdog,
        new OverdueFallback(scheduler, counters, () -> { }), counters, "[\"hello\"]");
  }

  /** A policy that does not answer is ended later if the snapshot has more records. */
  @Test
  public void theHardDeadlineOfASnapshotGrowsWithItsRecords() {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 1);
    conf.setInt(BridgeConfig.ROUND_HARD_DEADLINE_MS, 50);
    conf.setInt(BridgeConfig.ROUND_SNAPSHOT_MICROS, 10_000);
    make();
    String ended = ended();
    int records = rounds.lastRecords();
    assertTrue("records " + records, records > 1);
    assertEquals(50 + 10 * records, deadlineOf(ended));
    assertEquals("another round has no more", 50, deadlineOf(ended()));
    scheduler.ask(8);
    assertEquals(8, scheduler.fallbackRound());
    rounds.snapshotNext("test");
    assertEquals(50 + 10 * (records + 8), deadlineOf(ended()));
  }

  private String ended() {
    return assertThrows(PolicyFailureException.class,
        () -> rounds.run(new Answering(NOTHING, FOR_EVER_MS), applied)).getMessage();
  }

  private static int deadlineOf(String message) {
    String[] words = message.split(" ");
    assertEquals(message, "no reply within", words[0] + " " + words[1] + " " + words[2]);
    return Integer.parseInt(words[3]);
  }

  /** A plan that would be late for another round is in time for a snapshot. */
  @Test
  public void theDeadlineOfASnapshotGrowsWithItsRecords() throws Exception {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 1);
    conf.setInt(BridgeConfig.ROUND_HARD_DEADLINE_MS, 600_000);
    conf.setInt(BridgeConfig.ROUND_SNAPSHOT_MICROS, 1_000_000);
    make();
    scheduler.ask(8);
    assertEquals(8, scheduler.fallbackRound());
    assertNull(rounds.run(new Answering(NOTHING, 5), applied).bad);
    assertTrue("seconds enough", rounds.lastRecords() > 12);
    assertEquals("the plan came too late", rounds.run(new Answering(NOTHING, 5), applied).bad);
  }

  /** After a refused round there is no other until its pause is over or events are pending. */
  @Test
  public void aRefusedRoundIsFollowedByItsPause() throws Exception {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 600_000);
    conf.setInt(BridgeConfig.ROUND_HARD_DEADLINE_MS, 600_000);
    make();
    scheduler.ask(2);
    scheduler.refuseAll(true);
    for (int pauseMs : new int[] {10, 20, 40}) {
      assertTrue(rounds.isWanted());
      rounds.run(new Answering(ONE, 0), applied);
      pass(pauseMs);
    }
    rounds.run(new Answering(ONE, 0), applied);
    assertFalse(rounds.isWanted());
    scheduler.ask(1);
    assertTrue("a pending event ends a pause", rounds.isWanted());
    scheduler.refuseAll(false);
    rounds.run(new Answering(ONE, 0), applied);
    assertEquals(1, scheduler.running("policy"));
    assertFalse("nothing is left to tell", rounds.isWanted());
    scheduler.refuseAll(true);
    scheduler.ask(1);
    rounds.run(new Answering(ONE, 0), applied);
    pass(10);
  }

  /** A plan of the largest size is followed by another at once only if it allocated. */
  @Test
  public void aFullPlanThatIsRefusedIsFollowedByItsPauseToo() throws Exception {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 600_000);
    conf.setInt(BridgeConfig.ROUND_HARD_DEADLINE_MS, 600_000);
    conf.setInt(BridgeConfig.ROUND_MAX_CONTAINERS, 1);
    make();
    scheduler.ask(3);
    rounds.run(new Answering(ONE, 0), applied);
    assertEquals(1, scheduler.running("policy"));
    assertTrue("more may come", rounds.isWanted());
    assertTrue(rounds.reasons().isBusy());
    scheduler.refuseAll(true);
    rounds.run(new Answering(ONE, 0), applied);
    assertFalse("it allocated nothing", rounds.reasons().isBusy());
    pass(10);
    rounds.run(new Answering(ONE, 0), applied);
    pass(20);
  }

  /** While the process writes its state for a full history, rounds continue and nothing is lost. */
  @Test
  public void aFullHistoryBeginsAgainFromTheStateThatWasAskedFor() throws Exception {
    Answering policy = withFullHistory();
    assertEquals("segment, batch and plan", 3, rounds.history().lines().size());
    rounds.run(policy, applied);
    rounds.run(policy, applied);
    assertEquals("asked once in 200 ms", 1, policy.headers);
    assertEquals("nothing is forgotten yet", 7, rounds.history().lines().size());
    nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(200));
    policy.header = Golden.message("header_reply");
    rounds.run(policy, applied);
    assertEquals(2, policy.headers);
    List<String> lines = rounds.history().lines();
    assertEquals("the state and the three rounds after it", 7, lines.size());
    assertEquals("[\"segment\",{}]", RoundHistory.unpacked(lines.get(0)));
    assertTrue(lines.get(1), lines.get(1).startsWith("[\"batch\",2,"));
    assertEquals(lines.get(1), RoundHistory.unpacked(lines.get(1)));
    rounds.run(policy, applied);
    assertEquals("it is no longer full", 2, policy.headers);
  }

  /** Nothing is lost while a state cannot be written, and it is asked for again a minute later. */
  @Test
  public void aStateThatCannotBeWrittenIsAskedForAgain() throws Exception {
    Answering policy = withFullHistory();
    policy.header = "[\"error\",\"it was killed\"]";
    rounds.run(policy, applied);
    rounds.run(policy, applied);
    assertEquals(1, policy.headers);
    assertEquals("all that was kept", 7, rounds.history().lines().size());
    nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(60_000));
    policy.header = Golden.message("header_reply");
    rounds.run(policy, applied);
    assertEquals(2, policy.headers);
    assertEquals("the state and one round", 3, rounds.history().lines().size());
    assertEquals("another state than the first", "[\"header\",2]", policy.lastHeader);
  }

  /** A history without a new first line does not grow for ever. */
  @Test
  public void aHistoryThatCannotBeginAgainEnds() throws Exception {
    Answering policy = withFullHistory();
    policy.header = "[\"error\",\"it was killed\"]";
    policy.padding = FULL;
    for (int times = 0; times < 3; times++) {
      rounds.run(policy, applied);
    }
    policy.padding = "";
    assertEquals(9, rounds.history().lines().size());
    nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(60_000));
    rounds.run(policy, applied);
    assertEquals(Collections.emptyList(), rounds.history().lines());
    rounds.snapshotNext("test");
    rounds.run(policy, applied);
    assertEquals(3, rounds.history().lines().size());
  }

  /** A process that ends while it writes its state is followed by one that begins anew. */
  @Test
  public void aSnapshotEndsTheWaitForAState() throws Exception {
    Answering policy = withFullHistory();
    rounds.run(policy, applied);
    rounds.snapshotNext("another process");
    rounds.run(policy, applied);
    nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(200));
    policy.padding = FULL;
    rounds.run(policy, applied);
    assertEquals(1, policy.headers);
    assertEquals("segment and two rounds", 5, rounds.history().lines().size());
    rounds.run(policy, applied);
    assertEquals("another state than the first", "[\"header\",2]", policy.lastHeader);
  }

  /** Returns a policy after a round, never late, whose plan was as long as a history may be. */
  private Answering withFullHistory() throws Exception {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 600_000);
    conf.setInt(BridgeConfig.ROUND_HARD_DEADLINE_MS, 600_000);
    make();
    Answering policy = new Answering(NOTHING, 0);
    policy.padding = FULL;
    rounds.run(policy, applied);
    policy.padding = "";
    return policy;
  }

  /** Checks that no round is wanted for this long, and that one is wanted then. */
  private void pass(int pauseMs) {
    assertEquals(pauseMs, rounds.toNextWakeUpMs(FOR_EVER_MS));
    nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(pauseMs - 1));
    assertFalse("a pause of " + pauseMs + " ms", rounds.isWanted());
    nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(1));
    assertTrue(rounds.isWanted());
  }

  /** Answers with these decisions, after some time unless it was killed. */
  private final class Answering implements RunningPolicy, PolicyClient {
    private final String decisions;
    private final long waitMs;
    private final CountDownLatch killed = new CountDownLatch(1);
    private String padding = "";
    private String header = "[\"explaining\"]";
    private int headers;
    private String lastHeader;

    private Answering(String decisions, long waitMs) {
      this.decisions = decisions;
      this.waitMs = waitMs;
    }

    @Override
    public PolicyClient client() {
      return this;
    }

    @Override
    public String decide(String text) throws PolicyFailureException {
      if (text.startsWith("[\"header\"")) {
        headers++;
        lastHeader = text;
        return header;
      }
      try {
        if (killed.await(waitMs, TimeUnit.MILLISECONDS)) {
          throw new PolicyFailureException("it was killed");
        }
      } catch (InterruptedException e) {
        throw new PolicyFailureException("interrupted", e);
      }
      return "[\"plan\"," + text.split(",")[1] + ",[" + decisions
          + "],[],[],{},{},[],[],[],null," + padding + "[]]";
    }

    @Override
    public String lastFailure() {
      return "";
    }

    @Override
    public void kill() {
      killed.countDown();
    }

    @Override
    public String describe() {
      return "a test's policy";
    }
  }
}
