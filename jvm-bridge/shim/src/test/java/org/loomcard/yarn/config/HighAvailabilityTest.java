package org.loomcard.yarn.config;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;

import java.io.File;
import org.apache.hadoop.ha.HAServiceProtocol.HAServiceState;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.loomcard.yarn.LoomcardScheduler;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.Slow;
import org.loomcard.yarn.bridge.BridgeStatus;

/** What a ResourceManager of a pair does on its way to the active state, and back. */
@Category(Slow.class)
public class HighAvailabilityTest extends HighAvailabilityTestBase {

  /**
   * AdminService refreshes the queues before it starts the active services; that must not wait for
   * rounds that do not run yet.
   */
  @Test
  public void aStandbyBecomesActive() throws Exception {
    MockRM rm = standby("rm1");
    activate(rm);
    assertEquals(HAServiceState.ACTIVE, rm.getRMContext().getHAServiceState());
    awaitUp(rm);
    assertEquals("nothing was applied on the way", 1, status(rm).applied.version);
    rm.getRMContext().getScheduler().reinitialize(conf("rm1"), rm.getRMContext());
    assertEquals("refreshQueues applies the policy file", 2, status(rm).applied.version);
  }

  /** A ResourceManager that steps back has no policy process; it may become active again. */
  @Test
  public void theStandbyHasNoPolicyProcess() throws Exception {
    MockRM rm = standby("rm1");
    activate(rm);
    awaitUp(rm);
    LoomcardScheduler first = scheduler(rm);
    File process = new File("/proc/" + status(rm).process.replace("pid ", ""));
    rm.getRMContext().getRMAdminService().transitionToStandby(BY_USER);
    assertEquals(BridgeStatus.State.STOPPED, first.bridge().status().state);
    SchedulerTestBase.until("the policy process is gone", () -> !process.exists());
    activate(rm);
    awaitUp(rm);
    assertNotEquals("its journal goes on in files of its own", first.startedAtMs(),
        scheduler(rm).startedAtMs());
  }
}
