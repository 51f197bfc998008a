package org.loomcard.yarn;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;

import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.SettableFuture;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.records.ApplicationStateData;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.junit.Test;

/** A changed priority is stored and reported to the policy. */
public class PriorityTest extends SchedulerTestBase {
  private static volatile ScriptedScheduler watched;
  private static volatile int storedUnderLock;
  private static volatile int stored;

  /** Notes whether YARN's lock is locked while it writes. */
  public static final class Store extends MemoryRMStateStore {
    @Override
    public void updateApplicationStateInternal(ApplicationId id, ApplicationStateData state)
        throws Exception {
      stored++;
      storedUnderLock += watched.isLockedByCaller() ? 1 : 0;
      super.updateApplicationStateInternal(id, state);
    }
  }

  @Override
  protected void more(YarnConfiguration settings) {
    settings.setClass(YarnConfiguration.RM_STORE, Store.class, RMStateStore.class);
  }

  /** A state store may take long, but no thread waits for it at YARN's lock. */
  @Test
  public void isStoredWithoutTheLock() throws Exception {
    startRm();
    watched = scheduler;
    ApplicationId id = submit(application()).getApplicationId();
    rm.waitForState(id, RMAppState.ACCEPTED);
    read();
    int before = stored;
    scheduler.updateApplicationPriority(Priority.newInstance(7), id, SettableFuture.create(), null);
    assertEquals(7, read().one("application_changed").get(4).asInt());
    assertFalse("not stored", stored == before);
    assertEquals(0, storedUnderLock);
  }

  /**
   * An application that asks for no priority has its queue's, at most the cluster's highest. YARN
   * keeps it, and the policy orders by it.
   */
  @Test
  public void theQueuesDefault() throws Exception {
    ScriptedScheduler.policyConfig = new ConfigText().queue("root", -1, false, "")
        .queue("root.a", 0, true, "\"default_priority\":4")
        .queue("root.b", 0, true, "\"default_priority\":50").queue("root.c", 0, true, "").text();
    startRm();
    assertPriority(4, "a", null);
    assertPriority(2, "a", Priority.newInstance(2));
    assertPriority(10, "b", null);
    assertPriority(0, "c", null);
    rounds.apply(new ConfigText().queue("root", -1, false, "")
        .queue("root.a", 0, true, "\"default_priority\":7").queue("root.b", 0, true, "")
        .queue("root.c", 0, true, "").text());
    assertPriority(7, "a", null);
  }

  private void assertPriority(int wanted, String queue, Priority asked) throws Exception {
    RMApp app = submit(application().withQueue(queue).withAppPriority(asked));
    rm.waitForState(app.getApplicationId(), RMAppState.ACCEPTED);
    assertEquals(wanted, app.getApplicationPriority().getPriority());
    assertEquals(wanted, read().one("application_added").get(9).asInt());
  }
}
