package org.loomcard.yarn.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ha.HAServiceProtocol.RequestSource;
import org.apache.hadoop.ha.HAServiceProtocol.StateChangeRequestInfo;
import org.apache.hadoop.yarn.conf.HAUtil;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.AdminService;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.loomcard.yarn.Slow;

/** A ResourceManager of a pair answers while it is active; otherwise YARN redirects its callers. */
@Category(Slow.class)
public final class StandbyTest {
  private static final StateChangeRequestInfo BY_USER =
      new StateChangeRequestInfo(RequestSource.REQUEST_BY_USER);
  private static final String DOCUMENT = "/ws/v1/cluster/scheduler";
  private RunningRm manager;

  @Before
  public void startAsStandby() throws Exception {
    Configuration conf = new YarnConfiguration();
    conf.set(YarnConfiguration.RM_STORE, MemoryRMStateStore.class.getName());
    conf.setBoolean(YarnConfiguration.RECOVERY_ENABLED, true);
    conf.setBoolean(YarnConfiguration.RM_HA_ENABLED, true);
    conf.setBoolean(YarnConfiguration.AUTO_FAILOVER_ENABLED, false);
    conf.set(YarnConfiguration.RM_CLUSTER_ID, "pair");
    conf.setStrings(YarnConfiguration.RM_HA_IDS, "rm1", "rm2");
    conf.set(YarnConfiguration.RM_HA_ID, "rm1");
    conf.setInt("ipc.client.connect.max.retries", 0); // the other one is not there
    for (String key : YarnConfiguration.getServiceAddressConfKeys(conf)) {
      conf.set(HAUtil.addSuffix(key, "rm1"), "localhost:0");
      conf.set(HAUtil.addSuffix(key, "rm2"), "localhost:1");
    }
    manager = RunningRm.start(IdleScheduler.class, conf);
  }

  @After
  public void stop() {
    manager.stop();
  }

  @Test
  public void redirectsUntilItIsActive() throws Exception {
    redirected();
    for (int i = 0; i < 2; i++) { // the second time with another scheduler, on the same web server
      AdminService admin = manager.manager.getRMContext().getRMAdminService();
      admin.transitionToActive(BY_USER);
      assertEquals(200, manager.get(DOCUMENT, null).status);
      assertEquals(200, manager.get("/cluster/scheduler", null).status);
      admin.transitionToStandby(BY_USER);
      redirected();
    }
  }

  private void redirected() throws IOException {
    for (RunningRm.Answer answer : new RunningRm.Answer[] {manager.get(DOCUMENT, null),
        manager.get("/cluster/scheduler", null), manager.put(
            "/ws/v1/cluster/loomcard/policy?user.name=admin", "policy: drf\n")}) {
      assertEquals(307, answer.status);
      assertTrue(answer.body, answer.header("Refresh").contains(";url=http"));
    }
  }
}
