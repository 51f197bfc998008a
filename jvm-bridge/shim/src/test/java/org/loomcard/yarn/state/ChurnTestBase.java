package org.loomcard.yarn.state;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmissionData;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.junit.Rule;
import org.junit.rules.TemporaryFolder;
import org.loomcard.yarn.LoomcardScheduler;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.bridge.BridgeStatus;
import org.loomcard.yarn.config.BridgeConfig;

/**
 * The real policy process behind a real ResourceManager, under seeded churn: asks, releases, ends,
 * lost nodes, applications that end. The mirror compares its counts with the scheduler's state
 * after every batch, so one resync is one disagreement.
 */
abstract class ChurnTestBase {
  static final String[] HOSTS = {"h1", "h2", "h3", "h4"};
  private static final String[] LABELS = {"", "gpu", "fpga"};
  @Rule public final TemporaryFolder folder = new TemporaryFolder();
  final Random random = new Random(7);
  boolean labelled;
  /** Leaf queues by the names that applications use. */
  String[] queues = {"a", "b"};
  /**
   * The largest size that AMs ask for, in steps of 256 MB; a node has {@link #stepsOfNode} of
   * these.
   */
  int largest = 8;
  int stepsOfNode = 64;
  private final Map<String, MockNM> nodes = new HashMap<>();
  final List<MockAM> masters = new ArrayList<>();
  private final Map<MockAM, List<Container>> held = new HashMap<>();
  MockRM rm;
  LoomcardScheduler scheduler;

  private static String python() {
    String named = System.getProperty("loomcard.python", System.getenv("LOOMCARD_PYTHON"));
    return named != null ? named : new File("../../.venv/bin/python").getAbsolutePath();
  }

  /** The folder of the policies in files that only these tests use. */
  static File policies() {
    return new File(ChurnTestBase.class.getResource("reserver.py").getPath()).getParentFile();
  }

  private File compiled(String yaml) throws Exception {
    File out = folder.newFile("setup.json");
    Process process = new ProcessBuilder(python(), "-c", "import sys\n"
        + "from pathlib import Path\nfrom loomcard.config import canonical_json, compile_config\n"
        + "made = compile_config(sys.argv[1], 'churn.yml', policy_path=[Path(sys.argv[3])])\n"
        + "open(sys.argv[2], 'w').write(canonical_json(made))",
        yaml, out.getPath(), policies().getPath()).inheritIO().start();
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    assertEquals("compiling the policy configuration", 0, process.exitValue());
    return out;
  }

  final void start(String yaml) throws Exception {
    SecurityUtil.setTokenServiceUseIp(false);
    YarnConfiguration conf = new YarnConfiguration();
    conf.set(YarnConfiguration.RM_SCHEDULER, LoomcardScheduler.class.getName());
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 256);
    conf.set("yarn.node-attribute.fs-store.root-dir", folder.getRoot().getPath());
    conf.set(BridgeConfig.SETUP_PATH, compiled(yaml).getPath());
    conf.set(BridgeConfig.STATE_DIR, folder.newFolder("state").getPath());
    conf.set(BridgeConfig.PYTHON, python());
    conf.set(BridgeConfig.POLICY_PATH, policies().getPath());
    conf.setLong(BridgeConfig.ROUND_DEADLINE_MS, 30_000);
    conf.setLong(BridgeConfig.ROUND_HARD_DEADLINE_MS, 60_000);
    conf.setLong(BridgeConfig.START_GRACE_MS, 120_000);
    conf.setLong(BridgeConfig.START_DEADLINE_MS, 120_000);
    conf.setBoolean(YarnConfiguration.NODE_LABELS_ENABLED, true);
    rm = new MockRM(conf);
    scheduler = (LoomcardScheduler) rm.getResourceScheduler();
    rm.start();
    SchedulerTestBase.until("the policy process",
        () -> scheduler.bridge().status().state == BridgeStatus.State.UP);
    if (labelled) {
      rm.getRMContext().getNodeLabelManager().addToCluserNodeLabels(Arrays.asList(
          NodeLabel.newInstance("gpu", false), NodeLabel.newInstance("fpga", true)));
    }
    for (String host : HOSTS) {
      register(host);
    }
  }

  private void register(String host) throws Exception {
    MockNM nm = new MockNM(host + ":1", 256 * stepsOfNode, 16, rm.getResourceTrackerService());
    nm.registerNode();
    nodes.put(host, nm);
  }

  private void submit(int index) throws Exception {
    RMApp app = MockRMAppSubmitter.submit(rm,
        MockRMAppSubmissionData.Builder.createWithMemory(512, rm).withAppName("churn")
            .withUser("u" + index % 3).withQueue(queues[index % queues.length])
            .withUnmanagedAM(true).withWaitForAppAcceptedState(false).build());
    rm.waitForState(app.getApplicationId(), RMAppState.ACCEPTED);
    MockAM am = MockRM.launchUAM(app, rm, nodes.get(HOSTS[0]));
    am.registerAppAttempt();
    masters.add(am);
    held.put(am, new ArrayList<>());
  }

  private void ask(MockAM am) throws Exception {
    int memory = 256 * (1 + random.nextInt(largest));
    int priority = 1 + random.nextInt(3);
    int count = random.nextInt(6);
    String host = HOSTS[random.nextInt(HOSTS.length)];
    List<ResourceRequest> rows = new ArrayList<>();
    boolean local = random.nextBoolean();
    boolean relax = !local || random.nextBoolean();
    for (String name : local ? Arrays.asList(host, "/default-rack", "*")
        : Collections.singletonList("*")) {
      ResourceRequest row = am.createResourceReq(name, memory, priority, count, null);
      row.setRelaxLocality(name.equals(host) || relax);
      if (labelled && !local) {
        row.setNodeLabelExpression(LABELS[priority - 1]);
      }
      rows.add(row);
    }
    List<ContainerId> released = new ArrayList<>();
    List<Container> mine = held.get(am);
    if (!mine.isEmpty() && random.nextInt(3) == 0) {
      released.add(mine.remove(random.nextInt(mine.size())).getId());
    }
    mine.addAll(am.allocate(rows, released).getAllocatedContainers());
  }

  /** Reports some containers of a node as running and some as ended. */
  private void heartbeat(String host) throws Exception {
    Map<org.apache.hadoop.yarn.api.records.ApplicationId, List<ContainerStatus>> report =
        new HashMap<>();
    for (List<Container> mine : held.values()) {
      for (Container container : new ArrayList<>(mine)) {
        if (!container.getNodeId().getHost().equals(host) || random.nextBoolean()) {
          continue;
        }
        boolean ends = random.nextInt(3) == 0;
        report.computeIfAbsent(container.getId().getApplicationAttemptId().getApplicationId(),
            id -> new ArrayList<>()).add(BuilderUtils.newContainerStatus(container.getId(),
                ends ? ContainerState.COMPLETE : ContainerState.RUNNING, "", 0,
                Resources.none()));
        if (ends) {
          mine.remove(container);
        }
      }
    }
    nodes.get(host).nodeHeartbeat(report, true);
  }

  /** Gives a node another label: none, one that lends, one that does not. */
  private void relabel(String host) throws Exception {
    String label = LABELS[random.nextInt(LABELS.length)];
    rm.getRMContext().getNodeLabelManager().replaceLabelsOnNode(Collections.singletonMap(
        NodeId.newInstance(host, 0),
        label.isEmpty() ? Collections.<String>emptySet() : Collections.singleton(label)));
  }

  /** Makes one thing happen: an application comes or goes, a node goes or changes, an AM asks. */
  final void step(int number) throws Exception {
    int pick = random.nextInt(20);
    if (masters.size() < 3 || pick == 0) {
      submit(number);
    } else if (pick == 1 && masters.size() > 3) {
      MockAM am = masters.remove(random.nextInt(masters.size()));
      held.remove(am);
      am.unregisterAppAttempt(false);
    } else if (pick == 2) {
      String host = HOSTS[random.nextInt(HOSTS.length)];
      rm.sendNodeLost(nodes.get(host));
      held.values().forEach(
          mine -> mine.removeIf(c -> c.getNodeId().getHost().equals(host)));
      rm.drainEvents();
      register(host);
    } else if (pick == 3 && labelled) {
      relabel(HOSTS[random.nextInt(HOSTS.length)]);
    } else if (pick < 12) {
      ask(masters.get(random.nextInt(masters.size())));
    } else {
      heartbeat(HOSTS[random.nextInt(HOSTS.length)]);
    }
    rm.drainEvents();
    assertTrue(scheduler.bridge().awaitDecisions(90_000));
  }

  /** Checks that the mirror's counts never differed from the scheduler's state. */
  final void assertNoResync(int step) {
    BridgeStatus status = scheduler.bridge().status();
    assertEquals("step " + step + ": " + status.lastFailure, 0, status.counters.resyncs());
  }
}
