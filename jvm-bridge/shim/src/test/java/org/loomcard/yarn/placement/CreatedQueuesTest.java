package org.loomcard.yarn.placement;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.junit.Test;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedScheduler;

/** Applications that wait for their queues, in a real ResourceManager. */
public class CreatedQueuesTest extends SchedulerTestBase {
  private static final long LONG_MS = 1_000_000;
  private final StockRules rules = new StockRules();
  private long nowMs = 1000;

  @Override
  protected void more(YarnConfiguration settings) {
    rules.queue("root", false, 0).queue("root.default", true, 0).queue("root.few", false, 1)
        .queue("root.users", false, 2);
    rules.add("\"user\":[\"few\"]", "root.few.%application", "leaf", "next");
    rules.add("\"user\":[\"mallory\"],\"named\":false", "root.nowhere", "", "reject");
    rules.add("\"application\":[\"deep\"]", "root.users.deep.%user", "all", "next");
    rules.add("\"application\":[\"default\"]", "root.default", "", "next");
    rules.add("", "root.users.%user", "leaf", "reject");
  }

  private void startWith(String text) {
    ScriptedScheduler.policyConfig = text;
    startRm();
  }

  private String text() {
    return rules.text().replaceFirst("\"maximum_queues\":1000", "\"maximum_queues\":2")
        .replaceAll("(\"template\":.)", "$1\"default_priority\":5,\"default_lifetime_s\":9000,")
        .replace("\"depth\":2", "\"remove_after_s\":60,\"depth\":2");
  }

  private RMApp submitted(String user, String name) throws Exception {
    return MockRMAppSubmitter.submit(rm,
        application().withUser(user).withAppName(name).build());
  }

  private void change() throws Exception {
    nowMs += 2000;
    rm.drainEvents();
    rounds.changeQueues(nowMs);
  }

  private void accepted(RMApp app, String queue) throws Exception {
    rm.waitForState(app.getApplicationId(), RMAppState.ACCEPTED);
    assertEquals(queue, app.getQueue());
    assertEquals(queue,
        scheduler.cluster().application(app.getApplicationId()).queue().path());
  }

  /** It waits, and YARN's events go on; then it is accepted. Nothing else is touched. */
  @Test
  public void anApplicationWaitsForItsQueue() throws Exception {
    startWith(text());
    RMApp alice = submitted("alice", "test");
    RMApp deep = submitted("alice", "deep");
    RMApp other = submitted("alice", "default");
    assertEquals(5, scheduler.checkAndGetApplicationPriority(null, null, "root.users.alice", null)
        .getPriority()); // YARN asks before the queue exists
    assertEquals(9000, scheduler.checkAndGetApplicationLifetime("root.users.alice", -1));
    accepted(other, "root.default");
    assertEquals(RMAppState.SUBMITTED, alice.getState());
    assertNull(scheduler.queues().find("root.users.alice"));
    change();
    accepted(alice, "root.users.alice");
    accepted(deep, "root.users.deep.alice");
    assertTrue(scheduler.queues().find("root.users.alice").spec().created);
    accepted(submitted("alice", "again"), "root.users.alice");
  }

  /** The submitter reads which rule refused, at once. */
  @Test
  public void aRefusalNamesTheRule() throws Exception {
    startWith(text());
    Throwable refused =
        assertThrows(Exception.class, () -> submitted("mallory", "test")).getCause();
    assertEquals(YarnException.class, refused.getClass());
    assertTrue(refused.getMessage(), refused.getMessage().contains("is refused by the placement "
        + "rules: rule 2: root.nowhere does not exist. Applications go to one of: root.default"));
  }

  /** Who may not submit there cannot use up the number of queues that may be created. */
  @Test
  public void noQueueIsCreatedForWhoMayNotSubmit() throws Exception {
    startWith(text().replaceAll("(\"template\":.*?\"submit\":.)\"[*]\"", "$1\"alice\""));
    Throwable refused =
        assertThrows(Exception.class, () -> submitted("bob", "test")).getCause();
    assertTrue(refused.getMessage(), refused.getMessage().contains("User bob may not submit to "
        + "queue root.users.bob, to which placement rule 5 leads"));
    RMApp app = submitted("alice", "test");
    change();
    accepted(app, "root.users.alice");
    assertEquals(1, rounds.applied().created().size());
  }

  /** As many as may be are created; for the others the reason is in the diagnostics. */
  @Test
  public void noMoreAreCreatedThanMayBe() throws Exception {
    startWith(text());
    List<RMApp> apps = new ArrayList<>();
    for (String name : new String[] {"a", "b", "c", "d"}) {
      apps.add(submitted("few", name));
    }
    change();
    accepted(apps.get(0), "root.few.a");
    accepted(apps.get(1), "root.few.b");
    for (RMApp app : apps.subList(2, 4)) {
      rm.waitForState(app.getApplicationId(), RMAppState.FAILED);
      assertTrue(app.getDiagnostics().toString(), app.getDiagnostics().toString()
          .contains("and root.few has 2 created queues already"));
    }
    accepted(submitted("few", "b"), "root.few.b");
    RMApp next = submitted("few", "e"); // the next rule decides: there is no room
    change();
    accepted(next, "root.users.few");
  }

  /** One that is withdrawn while it waits does not come back. */
  @Test
  public void aWithdrawnApplicationStaysAway() throws Exception {
    startWith(text());
    RMApp app = submitted("alice", "test");
    rm.drainEvents();
    rm.killApp(app.getApplicationId());
    rm.waitForState(app.getApplicationId(), RMAppState.KILLED);
    change();
    rm.drainEvents();
    assertNull(scheduler.cluster().application(app.getApplicationId()));
    assertNotNull(scheduler.queues().find("root.users.alice"));
  }

  /** A thousand users cost one change. */
  @Test(timeout = 300_000)
  public void aThousandQueuesAreOneChange() throws Exception {
    startWith(text());
    List<RMApp> apps = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      if (i != 500) {
        apps.add(submitted("u" + i, i % 2 == 0 ? "deep" : "test"));
      }
    }
    change();
    for (RMApp app : apps) {
      rm.waitForState(app.getApplicationId(), RMAppState.ACCEPTED);
    }
    assertEquals(999, rounds.applied().created().size());
    restartRm();
    while (scheduler.cluster().applications().size() < 999) { // those without an attempt come anew
      change();
    }
    assertEquals(999, scheduler.queues().policyConfig().created().size());
  }

  /** Also when the stored configuration does not have it, and no rule would place it there now. */
  @Test
  public void aRestartBringsBackTheQueuesOfRunningApplications() throws Exception {
    startWith(text());
    RMApp alice = submitted("alice", "deep");
    change();
    MockNM nm = node("h1", 8192, 8);
    launchAm(alice, nm);
    ScriptedScheduler.policyConfig = text().replace("root.users.%user", "root.few.%user")
        .replace("\"application\":[\"deep\"]", "\"application\":[\"other\"]");
    restartRm();
    assertNotNull(scheduler.queues().find("root.users.deep.alice"));
    assertEquals("root.users.deep.alice",
        scheduler.cluster().application(alice.getApplicationId()).queue().path());
    rounds.apply(text()); // another configuration that may create it too
    assertNotNull(scheduler.queues().find("root.users.deep.alice"));
    Exception refused = assertThrows(Exception.class,
        () -> rounds.apply(text().replace("\"depth\":2", "\"depth\":1")));
    assertTrue(refused.getMessage(), refused.getMessage().contains("root.users.deep.alice"));
  }

  /** Idle queues go, with empty parents; an application that was placed there brings them back. */
  @Test
  public void idleQueuesAreRemoved() throws Exception {
    startWith(text());
    RMApp deep = submitted("alice", "deep");
    RMApp few = submitted("few", "a");
    change();
    accepted(deep, "root.users.deep.alice");
    accepted(few, "root.few.a");
    for (RMApp app : new RMApp[] {deep, few}) {
      rm.killApp(app.getApplicationId());
      rm.waitForState(app.getApplicationId(), RMAppState.KILLED);
    }
    change();
    assertNotNull(scheduler.queues().find("root.users.deep.alice"));
    RMApp late = submitted("alice", "deep"); // it keeps its queue
    accepted(late, "root.users.deep.alice");
    nowMs += LONG_MS;
    change();
    change();
    assertNotNull(scheduler.queues().find("root.users.deep.alice"));
    rm.killApp(late.getApplicationId());
    rm.waitForState(late.getApplicationId(), RMAppState.KILLED);
    change();
    nowMs += LONG_MS;
    change();
    assertNull(scheduler.queues().find("root.users.deep.alice"));
    assertNull(scheduler.queues().find("root.users.deep"));
    assertFalse(rounds.applied().created().isEmpty()); // root.few keeps its own for ever
    RMApp again = submitted("alice", "deep");
    change();
    accepted(again, "root.users.deep.alice");
  }
}
