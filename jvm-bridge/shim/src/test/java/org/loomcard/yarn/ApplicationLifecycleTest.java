package org.loomcard.yarn;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.commons.lang3.StringUtils;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.junit.Test;
import org.loomcard.yarn.rounds.CommitReport;
import org.mockito.Mockito;

/** An application from its submission to its end, as it is reported to the policy. */
public class ApplicationLifecycleTest extends SchedulerTestBase {
  /** Everything is reported once, in order, and the counts are right at every step. */
  @Test
  public void aWholeLife() throws Exception {
    startRm();
    MockNM nm = node("h1", 8192, 8);
    RMApp app = submit(application());
    MockAM am = launchAm(app, nm);
    ScriptedRounds.Batch batch = read();
    assertEquals(Arrays.asList("outcomes", "attempt_registered", "container_started"),
        batch.tags());
    assertEquals("[1,1,1,0,[7168,8]]", batch.check.toString());

    JsonNode ask = ask(am, 1024, 5, 3);
    assertEquals("[\"ask\",5,3]", "[" + ask.get(0) + "," + ask.get(3) + "," + ask.get(7) + "]");
    CommitReport report = rounds.commit(ScriptedRounds.allocate(ask, node(nm), 2));
    assertEquals("allocated 2, preempted 0, refused 0", report.toString());
    List<Container> containers = collect(am);
    assertEquals(2, containers.size());
    batch = read();
    assertEquals(2, batch.one("outcomes").get(4).size());
    assertEquals("[1,1,3,1,[5120,8]]", batch.check.toString());

    nm.nodeHeartbeat(app.getCurrentAppAttempt().getAppAttemptId(), 2, ContainerState.COMPLETE);
    rm.drainEvents();
    batch = read();
    assertEquals("completed", batch.one("container_completed").get(3).asText());
    assertEquals("[1,1,2,1,[6144,8]]", batch.check.toString());

    am.unregisterAppAttempt();
    nm.nodeHeartbeat(app.getCurrentAppAttempt().getAppAttemptId(), 1, ContainerState.COMPLETE);
    rm.waitForState(app.getApplicationId(), RMAppState.FINISHED);
    nm.nodeHeartbeat(app.getCurrentAppAttempt().getAppAttemptId(), 3, ContainerState.COMPLETE);
    rm.drainEvents();
    batch = read();
    assertEquals("[1,0,0,0,[8192,8]]", batch.check.toString());
    assertEquals(1, batch.all("application_removed").size());
    assertEquals(FinalApplicationStatus.SUCCEEDED, app.getFinalApplicationStatus());
    assertEquals(0, scheduler.queues().root().containers());
    assertEquals("[0, 0]", Arrays.toString(scheduler.queues().root().used()));
    assertEquals(3, scheduler.metrics().allocatedByPolicy());
    assertFalse(rounds.hasPendingEvents());
  }

  /**
   * The fallback serves the same application to its end, and its allocations are counted as its
   * own.
   */
  @Test
  public void theFallbackServesToo() throws Exception {
    startRm();
    MockNM nm = node("h1", 8192, 8);
    RMApp app = submit(application());
    until("the AM", () -> rounds.fallbackRound() == 1);
    rm.drainEvents();
    MockAM am = rm.sendAMLaunched(app.getCurrentAppAttempt().getAppAttemptId());
    am.registerAppAttempt();
    am.allocate("*", 1024, 20, Collections.emptyList());
    assertEquals(7, rounds.fallbackRound());
    assertEquals(7, collect(am).size());
    assertEquals(8, scheduler.metrics().allocatedByFallback());
    assertEquals(0, scheduler.metrics().allocatedByPolicy());
    ScriptedRounds.Batch batch = rounds.snapshot();
    assertEquals("[1,1,8,13,[0,8]]", batch.check.toString());
    assertEquals("fallback", batch.all("container_added").get(7).get(11).asText());
    assertTrue(nm.getNodeId() != null);
  }

  /**
   * While the fallback serves, the counts are not read; an attempt that ends is not kept for them.
   */
  @Test
  public void endedAttemptsWantNothing() throws Exception {
    startRm();
    node("h1", 2048, 8);
    read();
    assertFalse("nobody asks", scheduler.cluster().hasDemand());
    for (int i = 0; i < 3; i++) {
      RMApp app = submit(application());
      until("the AM", () -> rounds.fallbackRound() == 1);
      rm.drainEvents();
      MockAM am = rm.sendAMLaunched(app.getCurrentAppAttempt().getAppAttemptId());
      am.registerAppAttempt();
      am.allocate("*", 2048, 4, Collections.emptyList());
      assertEquals("no room for more", 0, rounds.fallbackRound());
      assertTrue("it waits", scheduler.cluster().hasDemand());
      rm.killApp(app.getApplicationId());
      rm.waitForState(app.getApplicationId(), RMAppState.KILLED);
      rm.drainEvents();
      assertFalse("nobody asks any more", scheduler.cluster().hasDemand());
    }
  }

  /** A heartbeat without changes is not reported and starts no round. */
  @Test
  public void anIdleHeartbeatIsNoNews() throws Exception {
    startRm();
    MockNM nm = node("h1", 8192, 8);
    read();
    nm.nodeHeartbeat(true);
    rm.drainEvents();
    int before = rounds.signals();
    nm.nodeHeartbeat(true);
    rm.drainEvents();
    assertFalse(rounds.hasPendingEvents());
    assertEquals(before, rounds.signals());
  }

  /**
   * The ResourceManager may have forgotten an application before its event reaches the scheduler.
   */
  @Test
  public void anApplicationThatIsForgotten() throws Exception {
    startRm();
    scheduler.handle(new AppAddedSchedulerEvent(ApplicationId.newInstance(1, 1), "default",
        "alice"));
    assertEquals("", read().one("application_added").get(6).asText());
    assertEquals("alice", rounds.snapshot().one("application_added").get(5).asText());
  }

  /** The policy gets only the beginning of long names, in whole characters. */
  @Test
  public void longNamesAreCut() throws Exception {
    startRm();
    String name = StringUtils.repeat("n", 999) + "\ud83d\ude00" + StringUtils.repeat("n", 9999);
    submit(application().withAppName(name));
    assertEquals(StringUtils.repeat("n", 999), read().one("application_added").get(6).asText());
  }

  private JsonNode added(int number, boolean recovering, long submittedAtMs) {
    ApplicationId id = ApplicationId.newInstance(1, number);
    RMApp app = Mockito.mock(RMApp.class);
    Mockito.when(app.getSubmitTime()).thenReturn(submittedAtMs);
    rm.getRMContext().getRMApps().put(id, app);
    scheduler.handle(new AppAddedSchedulerEvent(id, "default", "alice", recovering, null,
        Priority.newInstance(0), null));
    JsonNode record = read().one("application_added");
    rm.getRMContext().getRMApps().remove(id);
    return record;
  }

  /** A step of the wall clock moves no application before one that came earlier. */
  @Test
  public void stepsOfTheClockReorderNothing() throws Exception {
    startRm();
    long hour = TimeUnit.HOURS.toMillis(1);
    long first = added(1, false, scheduler.startedAtMs() + hour).get(10).asLong();
    long second = added(2, false, scheduler.startedAtMs() - hour).get(10).asLong();
    assertTrue(first + " then " + second, first <= second);
    JsonNode early = added(3, true, scheduler.startedAtMs() - hour);
    assertEquals("recovered", -hour, early.get(10).asLong());
    JsonNode ahead = added(4, true, scheduler.startedAtMs() + hour);
    long submitted = ahead.get(10).asLong(); // the engine's clock continues while it is added
    assertTrue("by a clock that was ahead: " + submitted,
        submitted >= second && submitted <= ahead.get(1).asLong());
  }
}
