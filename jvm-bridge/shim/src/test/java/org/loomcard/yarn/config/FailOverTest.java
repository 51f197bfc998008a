package org.loomcard.yarn.config;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.ha.HAServiceProtocol.HAServiceState;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmissionData;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.TestRMRestart;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.junit.Rule;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.loomcard.yarn.LoomcardScheduler;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.Slow;
import org.loomcard.yarn.bridge.ConfigSwapResult;

/** Two ResourceManagers that share only ZooKeeper, each with a policy process of its own. */
@Category(Slow.class)
public class FailOverTest extends HighAvailabilityTestBase {
  private static final String SRTF = "version: 1\nkind: policy\npolicy: srtf\n";
  private static final int DEADLINE_MS = 120_000;
  @Rule public final ZooKeeperForTests zooKeeper = new ZooKeeperForTests();

  @Override
  protected void more(YarnConfiguration conf) {
    conf.set(YarnConfiguration.RM_STORE, ZKRMStateStore.class.getName());
    conf.set("hadoop.zk.address", zooKeeper.address());
    conf.setInt("hadoop.zk.timeout-ms", DEADLINE_MS / 2);
    conf.setInt(BridgeConfig.SAVED_EVERY_MS, 1);
  }

  private static ConfigSwapResult apply(MockRM rm, String yaml, String user) {
    return scheduler(rm).bridge().swap(yaml, "srtf.yml", user, DEADLINE_MS);
  }

  /**
   * What was applied to one is used by the other, with its history, its file and the saved state.
   */
  @Test
  public void whatWasAppliedGovernsTheNext() throws Exception {
    MockRM one = standby("rm1");
    MockRM two = standby("rm2");
    activate(one);
    ConfigSwapResult applied = apply(one, SRTF, "alice");
    assertTrue(applied.toString(), applied.isApplied());
    StateStoresProbe kept = new StateStoresProbe(one);
    SchedulerTestBase.until("saved", () -> kept.reservations("saved.json", "root.default:srtf"));
    one.getRMContext().getRMAdminService().transitionToStandby(BY_USER);
    activate(two);
    AppliedConfig governing = status(two).applied;
    assertEquals(2, governing.version);
    assertEquals(applied.hash, governing.policyConfig.hash);
    assertEquals("alice", governing.user);
    List<AppliedConfig> history = scheduler(two).bridge().history();
    assertEquals(2, history.size());
    assertEquals("fifo", history.get(1).policyConfig.queue("root.default").policy);
    assertEquals("its own file follows", SRTF, read(new File(folder.getRoot(), "rm2/policy.yml")));
    assertTrue(new StateStoresProbe(two).reservations("saved.json", "root.default:srtf"));
    write(new File(folder.getRoot(), "rm2/policy.yml"), SRTF.replace("srtf", "drf"));
    awaitUp(two);
    two.getRMContext().getScheduler().reinitialize(conf("rm2"), two.getRMContext());
    assertEquals("refreshQueues works there", 3, status(two).applied.version);
    assertEquals("drf", status(two).applied.policyConfig.queue("root.default").policy);
  }

  /** One that was active and does not know that it no longer is changes nothing, and steps back. */
  @Test
  public void whoIsFencedChangesNothing() throws Exception {
    MockRM one = standby("rm1");
    MockRM two = standby("rm2");
    activate(one);
    awaitUp(one);
    LoomcardScheduler fenced = scheduler(one);
    File process = new File("/proc/" + status(one).process.replace("pid ", ""));
    activate(two);
    ConfigSwapResult refused = apply(one, SRTF, "alice");
    assertFalse(refused.isApplied());
    // The store refuses it, or the fenced one has noticed it itself a moment earlier.
    assertTrue(refused.message, refused.message.contains("another ResourceManager has become")
        || refused.message.contains("the ResourceManager is stopping"));
    SchedulerTestBase.until("the fenced one is standby",
        () -> one.getRMContext().getHAServiceState() == HAServiceState.STANDBY);
    SchedulerTestBase.until("its policy process is gone", () -> !process.exists());
    assertEquals(1, fenced.bridge().status().applied.version);
    assertEquals(1, status(two).applied.version);
    assertFalse(read(new File(folder.getRoot(), "rm1/policy.yml")).equals(SRTF));
  }

  /** An application continues under the other: its containers are known, and it gets more. */
  @Test
  public void containersGoOnUnderTheNext() throws Exception {
    MockRM one = standby("rm1");
    MockRM two = standby("rm2");
    activate(one);
    MockNM nm = new MockNM("h1:1234", 8192, 8, one.getResourceTrackerService());
    nm.registerNode();
    RMApp app = MockRMAppSubmitter.submit(one, MockRMAppSubmissionData.Builder
        .createWithMemory(1024, one).withAppName("test").withUser("alice").withQueue("default")
        .withUnmanagedAM(false).withWaitForAppAcceptedState(false).build());
    SchedulerTestBase.until("the policy allocated the AM", () -> app.getCurrentAppAttempt() != null
        && app.getCurrentAppAttempt().getAppAttemptState() == RMAppAttemptState.ALLOCATED);
    MockAM am = one.sendAMLaunched(app.getCurrentAppAttempt().getAppAttemptId());
    am.registerAppAttempt();
    assertEquals(2, allocated(am, 2).size());
    one.getRMContext().getRMAdminService().transitionToStandby(BY_USER);
    activate(two);
    nm.setResourceTrackerService(two.getResourceTrackerService());
    List<NMContainerStatus> reports = new ArrayList<>();
    for (int i = 1; i <= 3; i++) {
      reports.add(TestRMRestart.createNMContainerStatus(am.getApplicationAttemptId(), i,
          ContainerState.RUNNING));
    }
    nm.registerNode(reports, null);
    two.drainEvents();
    assertEquals(3, scheduler(two).getRootQueueMetrics().getAllocatedContainers());
    am.setAMRMProtocol(two.getApplicationMasterService(), two.getRMContext());
    am.registerAppAttempt(false);
    two.waitForState(app.getApplicationId(), RMAppState.RUNNING);
    assertEquals("and the policy there serves it", 1, allocated(am, 1).size());
    assertEquals(0, status(two).counters.allocatedByFallback());
  }

  private static List<Container> allocated(MockAM am, int count) throws Exception {
    List<Container> allocated = new ArrayList<>(
        am.allocate("*", 1024, count, new ArrayList<ContainerId>()).getAllocatedContainers());
    SchedulerTestBase.until("the policy allocated " + count, () -> {
      try {
        allocated.addAll(am.allocate(new ArrayList<ResourceRequest>(), new ArrayList<ContainerId>())
            .getAllocatedContainers());
      } catch (Exception e) {
        throw new AssertionError(e);
      }
      return allocated.size() >= count;
    });
    return allocated;
  }
}
