package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import org.apache.hadoop.conf.Configuration;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * The whole bridge against a real Python process, with tiny books in place of YARN's; well and
 * misbehaved.
 */
public class BridgeTest {
  private static final String FIFO = "version: 1\nkind: policy\npolicy: fifo\n";
  private static final String DRF = "version: 1\nkind: policy\npolicy: drf\n";

  @Rule
  public final TemporaryFolder folder = new TemporaryFolder();
  private final TinyBooks books = new TinyBooks();
  private final Configuration conf = new Configuration(false);
  private File orders;
  private Bridge bridge;

  @Before
  public void configure() throws Exception {
    orders = new File(folder.getRoot(), "orders");
    conf.set(BridgeConfig.STATE_DIR, folder.newFolder("state").getPath());
    conf.set(BridgeConfig.POLICY_FILE, new File(folder.getRoot(), "policy.yml").getPath());
    conf.set(BridgeConfig.SETUP_PATH, new File(folder.getRoot(), "setup.json").getPath());
    conf.set(BridgeConfig.PYTHON, PythonForTests.path());
    conf.setInt(BridgeConfig.RESTART_BACKOFF_MS, 50);
    conf.setInt(BridgeConfig.RESTART_BACKOFF_MAX_MS, 200);
    try (InputStream first = BridgeTest.class.getResourceAsStream("first-setup.json")) {
      Files.copy(first, new File(folder.getRoot(), "setup.json").toPath());
    }
    write("policy.yml", FIFO);
  }

  @After
  public void stop() throws Exception {
    if (bridge != null) {
      bridge.stop();
    }
  }

  /** A healthy start: the policy grants everything, the fallback nothing. */
  @Test
  public void policyGrantsFromTheFirstContainerOn() throws Exception {
    start(false);
    for (int i = 0; i < 5; i++) {
      ask(TinyBooks.SLOTS);
      Until.waitUntil("all slots run", () -> books.running("policy") == TinyBooks.SLOTS);
      books.endAll();
      bridge.signal();
    }
    assertEquals(BridgeStatus.State.UP, bridge.status().state);
    assertEquals(5 * TinyBooks.SLOTS, bridge.status().counters.granted());
    assertEquals(0, bridge.status().counters.grantedByFallback());
    assertEquals(0, bridge.status().counters.resyncs());
    assertEquals("one snapshot, at the start", 1, books.snapshots);
  }

  /** kill -9 of the process: the fallback serves at once, then the policy takes over again. */
  @Test
  public void aKilledProcessIsReplaced() throws Exception {
    start(false);
    ask(2);
    Until.waitUntil("the policy granted", () -> books.running("policy") == 2);
    signalProcess("KILL");
    fallsBackAndComesBack();
    assertEquals(1, bridge.status().counters.restarts());
  }

  /** A stopped process is killed at the hard deadline. */
  @Test
  public void aStoppedProcessIsKilledAtTheHardDeadline() throws Exception {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 200);
    conf.setInt(BridgeConfig.ROUND_HARD_DEADLINE_MS, 600);
    start(false);
    ask(2);
    Until.waitUntil("the policy granted", () -> books.running("policy") == 2);
    signalProcess("STOP");
    fallsBackAndComesBack();
    assertTrue(bridge.status().lastFailure,
        bridge.status().lastFailure.contains("no reply within 600 ms"));
  }

  /** What is no plan opens the breaker, with the reason. */
  @Test
  public void garbageOpensTheBreaker() throws Exception {
    misbehaves("garbage", "not JSON");
  }

  /** An error reply opens the breaker, and the process's own traceback is kept. */
  @Test
  public void anErrorOpensTheBreakerWithItsTraceback() throws Exception {
    misbehaves("error", "the wayward process's own words");
  }

  /** A plan for another round is not this round's. */
  @Test
  public void aPlanOfAnotherRoundOpensTheBreaker() throws Exception {
    misbehaves("round", "expected round");
  }

  /** A process that ends in mid-round has granted nothing. */
  @Test
  public void deathInTheMiddleOfARoundOpensTheBreaker() throws Exception {
    misbehaves("die", "no reply from the policy process");
  }

  /** An instance that raises every round opens the breaker after so many rounds. */
  @Test
  public void faultsInARowOpenTheBreaker() throws Exception {
    conf.setInt(BridgeConfig.BREAKER_FAILURES, 1);
    misbehaves("fault", "bad rounds in a row");
  }

  /** A process of another version never gets to decide; the fallback serves after the grace. */
  @Test
  public void anotherSchemaIsRefused() throws Exception {
    conf.setInt(BridgeConfig.START_GRACE_MS, 300);
    write("orders", "schema");
    start(true);
    ask(2);
    Until.waitUntil("the fallback granted", () -> books.running("fallback") == 2);
    Until.waitUntil("the reason is told",
        () -> bridge.status().lastFailure.contains("speaks schema 2"));
    assertEquals(0, bridge.status().counters.rounds());
    assertTrue(orders.delete());
    comesBack();
  }

  /** A late plan is refused whole; the policy hears of it and decides again, in time. */
  @Test
  public void aLatePlanIsRefusedWhole() throws Exception {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 400);
    start(true);
    Until.waitUntil("up", () -> bridge.status().counters.rounds() > 0);
    write("orders", "late");
    ask(3);
    Until.waitUntil("late", () -> bridge.status().counters.late() == 1);
    assertTrue(orders.delete());
    Until.waitUntil("granted after all", () -> books.running("policy") == 3);
    assertEquals("refused, then granted", 3, bridge.status().counters.refused());
    assertEquals(0, bridge.status().counters.failures());
  }

  /** Late plans in a row open the breaker. */
  @Test
  public void latePlansInARowOpenTheBreaker() throws Exception {
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 400);
    conf.setInt(BridgeConfig.BREAKER_FAILURES, 2);
    misbehaves("late", "2 bad rounds in a row");
  }

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

  /** A wake-up that a policy asked for is a record of a batch of its own, with nothing else new. */
  @Test
  public void aWakeUpIsARoundOfItsOwn() throws Exception {
    write("orders", "wake");
    start(true);
    Until.waitUntil("woken again and again", () -> heard("[\"timer\",") >= 3);
    assertEquals("nothing else is wrong", 0, bridge.status().counters.resyncs());
  }

  /** What a policy saved is given back to the process that follows, and to the next RM. */
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

  /** A stop in the middle of a start leaves nothing behind either. */
  @Test
  public void aStopDuringTheStartLeavesNothing() throws Exception {
    start(false);
    bridge.stop();
    Until.waitUntil("the folder is gone", () -> privateFolders() == 0);
    assertEquals(BridgeStatus.State.STOPPED, bridge.status().state);
  }

  /** The end of the bridge is the end of the process, its secret, and its folder. */
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

  private int privateFolders() {
    return new File(folder.getRoot(), "state")
        .list((dir, name) -> name.startsWith("policy-process-")).length;
  }

  /** How often the wayward process was told this. */
  private int heard(String what) {
    File heard = new File(folder.getRoot(), "orders.heard");
    try {
      return heard.exists() ? Collections.frequency(Files.readAllLines(heard.toPath()), what) : 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void misbehaves(String misdeed, String reason) throws Exception {
    start(true);
    ask(2);
    Until.waitUntil("the policy granted", () -> books.running("policy") == 2);
    write("orders", misdeed);
    long failures = bridge.status().counters.failures();
    ask(1);
    Until.waitUntil("the breaker opened", () -> bridge.status().counters.failures() > failures);
    String told = bridge.status().lastFailure;
    assertTrue(told, told.contains(reason));
    Until.waitUntil("somebody serves", () -> books.wanted() == 0);
    Files.deleteIfExists(orders.toPath());
    comesBack();
    assertEquals(BridgeStatus.State.UP, bridge.status().state);
  }

  private void fallsBackAndComesBack() throws Exception {
    ask(1);
    Until.waitUntil("the fallback granted", () -> books.running("fallback") == 1);
    assertEquals(1, bridge.status().counters.grantedByFallback());
    comesBack();
  }

  private void comesBack() throws Exception {
    Until.waitUntil("the policy is back", () -> bridge.status().state == BridgeStatus.State.UP);
    int before = books.running("policy");
    ask(1);
    Until.waitUntil("the policy grants again", () -> books.running("policy") == before + 1);
    assertEquals("its mirror was right", 0, bridge.status().counters.resyncs());
  }

  private Setup refreshed() {
    SwapResult result = bridge.refresh();
    assertTrue(result.toString(), result.isApplied());
    return books.setup();
  }

  private void assertUnchanged(SwapResult result) throws IOException {
    assertFalse(result.isApplied());
    assertEquals(1, result.version);
    assertEquals("fifo", books.setup().queue("root.default").policy);
    assertEquals(FIFO, read("policy.yml"));
    assertFalse(new File(folder.getRoot(), "state/applied.json").exists());
  }

  private void ask(int count) {
    books.ask(count);
    bridge.signal();
  }

  private void start(boolean wayward) throws Exception {
    bridge = bridge(wayward);
    bridge.load();
    bridge.start();
  }

  private Bridge bridge(boolean wayward) {
    BridgeConfig config = new BridgeConfig(conf);
    EngineClock clock = new EngineClock(System.currentTimeMillis());
    String script = PythonForTests.script("wayward.py");
    PolicyLauncher launcher = wayward
        ? new PolicyProcess.Launcher(config, "-P", script, orders.getPath())
            : Bridge.python(config);
    return new Bridge(config, clock, books, launcher,
        new Handshake(config, clock.epochMs(), "test", "3.4.2", Arrays.asList("memory_mb",
            "vcores")));
  }

  private String pid() {
    return bridge.status().process.replace("pid ", "");
  }

  private void signalProcess(String signal) throws Exception {
    assertEquals(0, new ProcessBuilder("kill", "-" + signal, pid()).start().waitFor());
  }

  private void write(String name, String text) throws IOException {
    File draft = new File(folder.getRoot(), name + ".draft");
    Files.write(draft.toPath(), text.getBytes(StandardCharsets.UTF_8));
    assertTrue(draft.renameTo(new File(folder.getRoot(), name)));
  }

  private String read(String name) throws IOException {
    return new String(Files.readAllBytes(folder.getRoot().toPath().resolve(name)),
        StandardCharsets.UTF_8);
  }
}
