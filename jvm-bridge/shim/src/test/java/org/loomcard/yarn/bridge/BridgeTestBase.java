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
import java.util.concurrent.Semaphore;
import org.apache.hadoop.conf.Configuration;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.rules.TemporaryFolder;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.config.LocalStateStore;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.config.StateStore;
import org.loomcard.yarn.process.PolicyProcess;
import org.loomcard.yarn.process.RunningPolicy;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.Handshake;

/** A bridge with a real Python process and a tiny scheduler state in place of YARN's. */
public abstract class BridgeTestBase {
  static final String FIFO = "version: 1\nkind: policy\npolicy: fifo\n";
  static final String OWN = "version: 1\nkind: policy\npolicy: own.py:Own\n";
  static final String DRF = "version: 1\nkind: policy\npolicy: drf\n";

  @Rule
  public final TemporaryFolder folder = new TemporaryFolder();
  final TinySchedulerState scheduler = new TinySchedulerState();
  final Configuration conf = new Configuration(false);
  /** Locked while no policy process may be started. */
  final Semaphore starts = new Semaphore(1);
  File orders;
  Bridge bridge;

  @Before
  public void configure() throws Exception {
    orders = new File(folder.getRoot(), "orders");
    conf.set(BridgeConfig.STATE_DIR, folder.newFolder("state").getPath());
    conf.set(BridgeConfig.POLICY_FILE, new File(folder.getRoot(), "policy.yml").getPath());
    conf.set(BridgeConfig.SETUP_PATH, new File(folder.getRoot(), "setup.json").getPath());
    conf.set(BridgeConfig.PYTHON, PythonForTests.path());
    // A machine that is busy with other tests must not look like a broken policy.
    conf.setInt(BridgeConfig.START_GRACE_MS, 120_000);
    conf.setInt(BridgeConfig.START_DEADLINE_MS, 120_000);
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 30_000);
    conf.setInt(BridgeConfig.ROUND_HARD_DEADLINE_MS, 60_000);
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

  final int privateFolders() {
    return new File(folder.getRoot(), "state")
        .list((dir, name) -> name.startsWith("policy-process-")).length;
  }

  /** Returns how often the misbehaving process got this command. */
  final int heard(String what) {
    File heard = new File(folder.getRoot(), "orders.heard");
    try {
      return heard.exists() ? Collections.frequency(Files.readAllLines(heard.toPath()), what) : 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  final void misbehaves(String misdeed, String reason) throws Exception {
    start(true);
    allocated(2);
    write("orders", misdeed);
    long failures = bridge.status().counters.failures();
    ask(1);
    Until.waitUntil("the breaker opened", () -> bridge.status().counters.failures() > failures);
    String reported = bridge.status().lastFailure;
    assertTrue(reported, reported.contains(reason));
    Until.waitUntil("somebody serves", () -> scheduler.wanted() == 0);
    Files.deleteIfExists(orders.toPath());
    comesBack();
    assertEquals(BridgeStatus.State.UP, bridge.status().state);
  }

  /** Sends the process a signal; the fallback serves, and only then may another process start. */
  final void fallsBackAndComesBack(String signal) throws Exception {
    starts.acquire();
    File process = new File("/proc/" + pid());
    signalProcess(signal);
    // Sends the signal; until it has arrived, the process may still answer another round.
    Until.waitUntil("the process does nothing more", () -> doesNothing(process));
    ask(1);
    Until.waitUntil("the fallback allocated", () -> scheduler.running("fallback") == 1);
    Until.waitUntil("it is counted", () -> bridge.status().counters.allocatedByFallback() == 1);
    assertEquals("not yet", BridgeStatus.NOT_RECOVERED, bridge.status().recoveredMs);
    starts.release();
    comesBack();
    assertTrue("the failure is over", bridge.status().recoveredMs >= 0);
  }

  /** Waits until the stop signal has arrived; before that the process may answer another round. */
  final boolean processDoesNothing() {
    return doesNothing(new File("/proc/" + pid()));
  }

  /** Returns whether every thread is stopped or dead. */
  private static boolean doesNothing(File process) {
    String[] threads = new File(process, "task").list();
    for (String thread : threads == null ? new String[0] : threads) {
      try {
        String stat = new String(Files.readAllBytes(process.toPath().resolve("task")
            .resolve(thread).resolve("stat")), StandardCharsets.UTF_8);
        char state = stat.charAt(stat.lastIndexOf(')') + 2);
        if (state != 'T' && state != 'Z' && state != 'X') {
          return false;
        }
      } catch (IOException e) {
        continue; // it is gone
      }
    }
    return true;
  }

  /**
   * Lets the policy allocate what is requested now. Its first round imports much and is awaited
   * before: on a busy machine it may be late if a test has a short deadline.
   */
  final void allocated(int count) throws Exception {
    Until.waitUntil("the first round", () -> bridge.status().counters.rounds() > 0);
    ask(count);
    Until.waitUntil("the policy allocated", () -> scheduler.running("policy") == count);
  }

  final void comesBack() throws Exception {
    int before = scheduler.running("policy");
    Until.waitUntil("the policy allocates again", () -> {
      // A process may still misbehave by an earlier command; then the fallback allocates.
      if (bridge.status().state == BridgeStatus.State.UP && scheduler.wanted() == 0
          && scheduler.running("policy") == before) {
        ask(1);
      }
      return scheduler.running("policy") > before;
    });
    assertEquals("its mirror was right", 0, bridge.status().counters.resyncs());
  }

  final PolicyConfig refreshed() {
    ConfigSwapResult result = bridge.refresh("tester");
    assertTrue(result.toString(), result.isApplied());
    return scheduler.policyConfig();
  }

  final void assertUnchanged(ConfigSwapResult result) throws IOException {
    assertFalse(result.isApplied());
    assertEquals(1, result.version);
    assertEquals("fifo", scheduler.policyConfig().queue("root.default").policy);
    assertEquals(FIFO, read("policy.yml"));
    assertFalse(new File(folder.getRoot(), "state/applied.json").exists());
  }

  final void ask(int count) {
    scheduler.ask(count);
    bridge.signal();
  }

  final void start(boolean misbehaving) throws Exception {
    bridge = bridge(misbehaving);
    bridge.load();
    bridge.start();
  }

  final Bridge bridge(boolean misbehaving) {
    return bridge(misbehaving, new LocalStateStore(new BridgeConfig(conf).stateDir));
  }

  final Bridge bridge(boolean misbehaving, StateStore store) {
    BridgeConfig config = new BridgeConfig(conf);
    EngineClock clock = new EngineClock(System.currentTimeMillis());
    String script = PythonForTests.script("misbehaving.py");
    RunningPolicy.Launcher python = misbehaving
        ? new PolicyProcess.Launcher(config, "-P", script, orders.getPath())
            : Bridge.python(config);
    RunningPolicy.Launcher launcher = onEnd -> {
      starts.acquire();
      starts.release();
      return python.launch(onEnd);
    };
    return new Bridge(config, clock, scheduler, launcher,
        new Handshake(config, clock.epochMs(), "test", "3.4.2", Arrays.asList("memory_mb",
            "vcores")), store);
  }

  final String pid() {
    return bridge.status().process.replace("pid ", "");
  }

  final void signalProcess(String signal) throws Exception {
    assertEquals(0, new ProcessBuilder("kill", "-" + signal, pid()).start().waitFor());
  }

  final void write(String name, String text) throws IOException {
    File draft = new File(folder.getRoot(), name + ".draft");
    Files.write(draft.toPath(), text.getBytes(StandardCharsets.UTF_8));
    assertTrue(draft.renameTo(new File(folder.getRoot(), name)));
  }

  final String read(String name) throws IOException {
    return new String(Files.readAllBytes(folder.getRoot().toPath().resolve(name)),
        StandardCharsets.UTF_8);
  }

  final void goesOnAsBefore() throws Exception {
    assertEquals(1, bridge.status().applied.version);
    assertEquals("fifo", scheduler.policyConfig().queue("root.default").policy);
    int before = scheduler.running("policy");
    ask(1);
    Until.waitUntil("the old policy allocates", () -> scheduler.running("policy") == before + 1);
    assertEquals(BridgeStatus.State.UP, bridge.status().state);
    assertEquals(0, bridge.status().counters.failures());
    assertEquals(0, bridge.status().counters.resyncs());
  }

  /** Writes a policy of the operator, in own.py. */
  final void policyFile(String head, String body) throws Exception {
    File path = folder.newFolder("policies");
    conf.set(BridgeConfig.POLICY_PATH, path.getPath());
    write("policies/own.py", head + "from dataclasses import dataclass\n"
        + "from loomcard import ClusterView, Plan\n"
        + "@dataclass(frozen=True)\nclass Own:\n"
        + "    def decide(self, view: ClusterView) -> Plan:\n        " + body + "\n");
  }
}
