package org.loomcard.yarn.config;

import java.io.File;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.ha.HAServiceProtocol.RequestSource;
import org.apache.hadoop.ha.HAServiceProtocol.StateChangeRequestInfo;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.yarn.conf.HAUtil;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.junit.After;
import org.junit.Rule;
import org.junit.rules.TemporaryFolder;
import org.loomcard.yarn.LoomcardScheduler;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.bridge.Bridge;
import org.loomcard.yarn.bridge.BridgeStatus;
import org.loomcard.yarn.bridge.PythonForTests;

/**
 * ResourceManagers of a pair, each with a policy process and a local folder of its own. The test
 * itself makes them active and standby.
 */
public abstract class HighAvailabilityTestBase {
  static final StateChangeRequestInfo BY_USER =
      new StateChangeRequestInfo(RequestSource.REQUEST_BY_USER);
  private static final String[] IDS = {"rm1", "rm2"};
  @Rule public final TemporaryFolder folder = new TemporaryFolder();
  private final List<MockRM> started = new ArrayList<>();

  @After
  public void stop() {
    started.forEach(MockRM::stop);
  }

  /** One of the pair, standby; its own data is in a folder with its name. */
  MockRM standby(String id) throws Exception {
    MockRM rm = new MockRM(conf(id));
    started.add(rm);
    rm.start();
    return rm;
  }

  static void activate(MockRM rm) throws Exception {
    rm.getRMContext().getRMAdminService().transitionToActive(BY_USER);
  }

  static LoomcardScheduler scheduler(MockRM rm) {
    return (LoomcardScheduler) rm.getResourceScheduler();
  }

  static BridgeStatus status(MockRM rm) {
    return scheduler(rm).bridge().status();
  }

  static void awaitUp(MockRM rm) throws InterruptedException {
    SchedulerTestBase.until("the policy process is up",
        () -> status(rm).state == BridgeStatus.State.UP);
  }

  /** Additional settings of a test class. */
  protected void more(YarnConfiguration conf) throws Exception {
    conf.set(YarnConfiguration.RM_STORE, MemoryRMStateStore.class.getName());
  }

  YarnConfiguration conf(String id) throws Exception {
    File own = new File(folder.getRoot(), id);
    if (own.mkdir()) {
      try (InputStream first = Bridge.class.getResourceAsStream("first-setup.json")) {
        Files.copy(first, new File(own, "setup.json").toPath());
      }
      write(new File(own, "policy.yml"), "version: 1\nkind: policy\npolicy: fifo\n");
    }
    SecurityUtil.setTokenServiceUseIp(false);
    YarnConfiguration conf = new YarnConfiguration();
    conf.set(YarnConfiguration.RM_SCHEDULER, LoomcardScheduler.class.getName());
    conf.set("hadoop.tmp.dir", own.getPath());
    conf.set("yarn.node-attribute.fs-store.root-dir", own.getPath());
    conf.set(BridgeConfig.SETUP_PATH, new File(own, "setup.json").getPath());
    conf.set(BridgeConfig.POLICY_FILE, new File(own, "policy.yml").getPath());
    conf.set(BridgeConfig.STATE_DIR, new File(own, "state").getPath());
    conf.set(BridgeConfig.PYTHON, PythonForTests.path());
    conf.setInt(BridgeConfig.START_GRACE_MS, 120_000);
    conf.setInt(BridgeConfig.START_DEADLINE_MS, 120_000);
    conf.setInt(BridgeConfig.ROUND_DEADLINE_MS, 30_000);
    conf.setInt(BridgeConfig.ROUND_HARD_DEADLINE_MS, 60_000);
    conf.setBoolean(YarnConfiguration.RECOVERY_ENABLED, true);
    conf.setBoolean(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_ENABLED, true);
    conf.setLong(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_SCHEDULING_WAIT_MS, 0);
    conf.setBoolean(YarnConfiguration.RM_HA_ENABLED, true);
    conf.setBoolean(YarnConfiguration.AUTO_FAILOVER_ENABLED, false);
    conf.set(YarnConfiguration.RM_CLUSTER_ID, "pair");
    conf.setStrings(YarnConfiguration.RM_HA_IDS, IDS);
    conf.set(YarnConfiguration.RM_HA_ID, id);
    for (String key : YarnConfiguration.getServiceAddressConfKeys(conf)) {
      for (String each : IDS) {
        conf.set(HAUtil.addSuffix(key, each), each + ":1");
      }
    }
    more(conf);
    return conf;
  }

  static void write(File file, String text) throws Exception {
    Files.write(file.toPath(), text.getBytes(StandardCharsets.UTF_8));
  }

  static String read(File file) throws Exception {
    return new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
  }
}
