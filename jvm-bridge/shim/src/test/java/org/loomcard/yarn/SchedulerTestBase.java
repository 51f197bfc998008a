package org.loomcard.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmissionData;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.rules.TemporaryFolder;
import org.loomcard.yarn.bridge.Until;
import org.loomcard.yarn.rounds.CommitReport;

/**
 * A real ResourceManager (MockRM) with our scheduler; the test decides, through {@link
 * ScriptedRounds}.
 */
public abstract class SchedulerTestBase {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();
  protected final YarnConfiguration conf = new YarnConfiguration();
  public MockRM rm;
  public ScriptedScheduler scheduler;
  public ScriptedRounds rounds;
  protected final Map<String, JsonNode> nodes = new HashMap<>();
  private final List<MockRM> started = new ArrayList<>();

  @Before
  public void settings() {
    ScriptedScheduler.policyConfig = ConfigText.oneQueue();
    SecurityUtil.setTokenServiceUseIp(false);
    conf.set(YarnConfiguration.RM_SCHEDULER, ScriptedScheduler.class.getName());
    conf.set(YarnConfiguration.RM_STORE, MemoryRMStateStore.class.getName());
    conf.setBoolean(YarnConfiguration.RECOVERY_ENABLED, true);
    conf.setBoolean(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_ENABLED, true);
    conf.setLong(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_SCHEDULING_WAIT_MS, 0);
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_VCORES, 0);
    conf.setInt(YarnConfiguration.MAX_CLUSTER_LEVEL_APPLICATION_PRIORITY, 10);
    conf.set("yarn.node-attribute.fs-store.root-dir", folder.getRoot().getPath());
    conf.set("hadoop.tmp.dir", folder.getRoot().getPath());
    more(conf);
  }

  /** Additional settings of a test class. */
  protected void more(YarnConfiguration settings) {
  }

  @After
  public void stop() {
    started.forEach(MockRM::stop);
  }

  protected void startRm() {
    rm = new MockRM(conf);
    started.add(rm);
    adopt();
    rm.start();
  }

  /** A second ResourceManager on the same state. */
  protected void restartRm() {
    MockRM old = rm;
    nodes.clear();
    rm = new MockRM(conf, old.getRMStateStore());
    started.add(rm);
    adopt();
    rm.start();
  }

  private void adopt() {
    scheduler = (ScriptedScheduler) rm.getResourceScheduler();
    rounds = scheduler.scripted;
  }

  protected MockNM node(String host, int memoryMb, int vcores) throws Exception {
    MockNM nm = new MockNM(host + ":1234", memoryMb, vcores, rm.getResourceTrackerService());
    nm.registerNode();
    rm.drainEvents();
    return nm;
  }

  protected MockRMAppSubmissionData.Builder application() throws Exception {
    return MockRMAppSubmissionData.Builder.createWithMemory(1024,
        rm).withAppName("test").withUser("alice")
        .withQueue("default").withUnmanagedAM(false).withWaitForAppAcceptedState(false);
  }

  protected RMApp submit(MockRMAppSubmissionData.Builder data) throws Exception {
    RMApp app = MockRMAppSubmitter.submit(rm, data.build());
    rm.drainEvents();
    return app;
  }

  /** Allocates every outstanding AM ask on this node, launches the AM and registers it. */
  protected MockAM launchAm(RMApp app, MockNM nm) throws Exception {
    rm.waitForState(app.getApplicationId(), RMAppState.ACCEPTED);
    until("an attempt", () -> app.getCurrentAppAttempt() != null
        && app.getCurrentAppAttempt().getAppAttemptState() == RMAppAttemptState.SCHEDULED);
    rm.drainEvents();
    ScriptedRounds.Batch batch = read();
    for (JsonNode ask : batch.all("ask")) {
      if (ask.get(7).asInt() > 0) {
        CommitReport report = rounds.commit(ScriptedRounds.allocate(ask, node(nm),
            ask.get(7).asInt()));
        if (report.refused > 0) {
          throw new AssertionError("AM refused: " + rounds.batch());
        }
      }
    }
    RMAppAttempt attempt = app.getCurrentAppAttempt();
    rm.waitForState(attempt.getAppAttemptId(), RMAppAttemptState.ALLOCATED);
    MockAM am = rm.sendAMLaunched(attempt.getAppAttemptId());
    am.registerAppAttempt();
    am.allocate(new ArrayList<ResourceRequest>(), new ArrayList<ContainerId>());
    nm.nodeHeartbeat(attempt.getAppAttemptId(), 1,
        org.apache.hadoop.yarn.api.records.ContainerState.RUNNING);
    rm.drainEvents();
    return am;
  }

  /** Returns the next batch; remembers the nodes that it introduces. */
  protected ScriptedRounds.Batch read() {
    ScriptedRounds.Batch batch = rounds.batch();
    for (JsonNode node : batch.all("node_added")) {
      nodes.put(node.get(3).asText(), node);
    }
    return batch;
  }

  protected JsonNode node(MockNM nm) {
    return nodes.get(nm.getNodeId().toString());
  }

  /** Lets the AM ask for containers anywhere, and returns the record of the ask. */
  protected JsonNode ask(MockAM am, int memoryMb, int priority, int count) throws Exception {
    am.allocate("*", memoryMb, count, priority, new ArrayList<ContainerId>(), null);
    rm.drainEvents();
    return read().one("ask");
  }

  /** Returns what the AM gets at a heartbeat. */
  protected List<Container> collect(MockAM am) throws Exception {
    List<Container> containers = am.allocate(new ArrayList<ResourceRequest>(),
        new ArrayList<ContainerId>())
        .getAllocatedContainers();
    rm.drainEvents();
    return containers;
  }

  public static void until(String what, BooleanSupplier condition) throws InterruptedException {
    Until.waitUntil(what, condition);
  }
}
