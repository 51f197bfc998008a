package org.loomcard.yarn.queues;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeysPublic;
import org.apache.hadoop.security.GroupMappingServiceProvider;
import org.apache.hadoop.security.Groups;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.SettableFuture;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;
import org.loomcard.yarn.ScriptedScheduler;
import org.loomcard.yarn.rounds.CommitReport;

/** Rights, limits, metrics and moves in a tree of queues. */
public class QueueRulesTest extends SchedulerTestBase {
  @Override
  protected void more(YarnConfiguration settings) {
    settings.set(YarnConfiguration.YARN_ADMIN_ACL, "root");
  }

  private static ConfigText tree() {
    return new ConfigText().queue("root", -1, false, "\"submit\":[],\"administer\":[\"boss\"]")
        .queue("root.lab", 0, false, "\"maximum\":{\"ppm\":500000}")
        .queue("root.lab.a", 1, true, "\"user_limit_ppm\":500000,\"am_share_ppm\":250000")
        .queue("root.lab.b", 1, true,
        "\"submit\":[\"bob\",\"group:wheel\"],\"administer\":[\"boss\"]")
        .queue("root.open", 0, true, "");
  }

  private String reasonOf(CommitReport report) {
    assertEquals(1, report.refused);
    return read().one("outcomes").get(5).get(0).get(2).asText();
  }

  private void rejected(String queue, String user, String... parts) throws Exception {
    RMApp app = submit(application().withQueue(queue).withUser(user));
    rm.waitForState(app.getApplicationId(), RMAppState.FAILED);
    for (String part : parts) {
      assertTrue(app.getDiagnostics().toString(), app.getDiagnostics().toString().contains(part));
    }
  }

  /**
   * A user who may not submit, or names no leaf queue, learns why, and who may submit or which
   * queues exist.
   */
  @Test
  public void submissionsAreRefusedWithAReason() throws Exception {
    ScriptedScheduler.policyConfig = tree().text();
    UserGroupInformation.createUserForTesting("carol", new String[] {"wheel"});
    startRm();
    rejected("nowhere", "alice", "submitted by user alice to unknown queue: nowhere",
        "root.lab.a, root.lab.b, root.open");
    rejected("lab", "alice", "root.lab holds queues, not applications");
    rejected("lab.b", "alice", "alice", "root.lab.b", "bob, group:wheel", "boss");
    RMApp app = submit(application().withQueue("b").withUser("bob"));
    rm.waitForState(app.getApplicationId(), RMAppState.ACCEPTED);
    assertEquals(3, read().one("application_added").get(4).asInt());
    UserGroupInformation boss = UserGroupInformation.createRemoteUser("boss");
    UserGroupInformation carol = UserGroupInformation.createUserForTesting("carol",
        new String[] {"wheel"});
    assertTrue("who administers may submit", scheduler.checkAccess(boss,
        QueueACL.SUBMIT_APPLICATIONS, "root.lab.b"));
    assertTrue("by group", scheduler.checkAccess(carol, QueueACL.SUBMIT_APPLICATIONS,
        "root.lab.b"));
    assertFalse(scheduler.checkAccess(carol, QueueACL.ADMINISTER_QUEUE, "root.lab.b"));
    assertThrows(IOException.class, () -> scheduler.getQueueInfo("nowhere", false, false));
    assertNull(scheduler.getAppsInQueue("nowhere"));
    assertEquals(1, scheduler.getAppsInQueue("root.lab").size());
    assertEquals(0, scheduler.getAppsInQueue("root.open").size());
  }

  /**
   * Every user is in wheel. Notes which users were looked up, which under YARN's lock, and which by
   * a caller.
   */
  public static final class SlowGroups implements GroupMappingServiceProvider {
    private static final Set<String> ASKED = ConcurrentHashMap.newKeySet();
    private static final Set<String> ASKED_UNDER_LOCK = ConcurrentHashMap.newKeySet();
    private static final Set<String> ASKED_BY_CALLER = ConcurrentHashMap.newKeySet();
    private static volatile ScriptedScheduler watched;
    private static volatile Thread caller;
    private static volatile CountDownLatch answers;

    @Override
    public List<String> getGroups(String user) {
      ASKED.add(user);
      if (Thread.currentThread() == caller) {
        ASKED_BY_CALLER.add(user);
      } else {
        awaitAnswer();
      }
      if (watched.isLockedByCaller()) {
        ASKED_UNDER_LOCK.add(user);
      }
      return Collections.singletonList("wheel");
    }

    private static void awaitAnswer() {
      try {
        answers.await(60, TimeUnit.SECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    @Override
    public void cacheGroupsRefresh() {
    }

    @Override
    public void cacheGroupsAdd(List<String> groups) {
    }
  }

  /**
   * The look-up of a user's groups may take seconds: no thread waits for it at YARN's lock, and
   * YARN's only thread for the scheduler's events does not make it. In that time the application
   * may be withdrawn, and others are accepted.
   */
  @Test
  public void groupsAreLookedUpWithoutTheLock() throws Exception {
    ScriptedScheduler.policyConfig = tree().text();
    startRm();
    SlowGroups.watched = scheduler;
    SlowGroups.caller = Thread.currentThread();
    SlowGroups.answers = new CountDownLatch(1);
    Configuration slow = new Configuration(conf);
    slow.setClass(CommonConfigurationKeysPublic.HADOOP_SECURITY_GROUP_MAPPING, SlowGroups.class,
        GroupMappingServiceProvider.class);
    useGroups(slow);
    try {
      scheduler.handle(new AppAddedSchedulerEvent(id(1), "lab.b", "frank"));
      scheduler.handle(new AppAddedSchedulerEvent(id(3), "lab.b", "heidi"));
      scheduler.handle(new AppRemovedSchedulerEvent(id(3), RMAppState.KILLED));
      scheduler.handle(new AppAddedSchedulerEvent(id(2), "open", "grace"));
      assertFalse("everybody may", SlowGroups.ASKED.contains("grace"));
      assertEquals(1, scheduler.queues().find("open").applications());
      until("a look-up at a submission", () -> SlowGroups.ASKED.contains("frank"));
      assertEquals(0, scheduler.queues().find("lab.b").applications());
      SlowGroups.answers.countDown();
      until("the submission", () -> scheduler.queues().find("lab.b").applications() > 0);
      until("the other look-up", () -> SlowGroups.ASKED.contains("heidi"));
      assertEquals(Collections.emptySet(), SlowGroups.ASKED_BY_CALLER);
      assertEquals("root.lab.b", scheduler.moveApplication(id(2), "lab.b"));
      assertTrue("at a move", SlowGroups.ASKED.contains("grace"));
      assertEquals("without the withdrawn one", 2,
          scheduler.queues().find("lab.b").applications());
      assertEquals(Collections.emptySet(), SlowGroups.ASKED_UNDER_LOCK);
    } finally {
      useGroups(new Configuration());
      SlowGroups.watched = null;
    }
  }

  private static ApplicationId id(int number) {
    return ApplicationId.newInstance(1, number);
  }

  private static void useGroups(Configuration from) {
    UserGroupInformation.reset();
    Groups.getUserToGroupsMappingServiceWithLoadedConfiguration(from);
    UserGroupInformation.setConfiguration(from);
  }

  /**
   * The maximum along the path, the user's limit and the AM share are enforced, and the headroom
   * shows what is left.
   */
  @Test
  public void limits() throws Exception {
    ScriptedScheduler.policyConfig = tree().text();
    startRm();
    MockNM nm = node("h1", 16384, 16);
    RMApp app = submit(application().withQueue("a"));
    MockAM am = launchAm(app, nm);
    read();
    RMApp second = submit(application().withQueue("a").withUser("dave"));
    rm.waitForState(second.getApplicationId(), RMAppState.ACCEPTED);
    until("its ask", () -> rounds.hasPendingEvents());
    rm.drainEvents();
    ScriptedRounds.Batch batch = read();
    JsonNode amAsk = batch.one("ask");
    assertTrue(amAsk.get(5).asBoolean());
    assertEquals("2 GB for AMs: one more fits", 1, rounds.commit(
        ScriptedRounds.allocate(amAsk, node(nm), 1)).allocated);
    read();
    RMApp third = submit(application().withQueue("a").withUser("erin"));
    rm.waitForState(third.getApplicationId(), RMAppState.ACCEPTED);
    rm.drainEvents();
    assertEquals("AM_LIMIT", reasonOf(rounds.commit(ScriptedRounds.allocate(read().one("ask"),
        node(nm), 1))));

    Resource headroom = am.allocate(new ArrayList<ResourceRequest>(), new ArrayList<ContainerId>())
        .getAvailableResources();
    assertEquals("alice: half of 8 GB less her AM, which has no vcore", Resource.newInstance(3072,
        4), headroom);
    JsonNode ask = ask(am, 1024, 5, 20);
    CommitReport report = rounds.commit(ScriptedRounds.allocate(ask, node(nm), 20));
    assertEquals(3, report.allocated);
    assertEquals("[[0,17,\"USER_LIMIT\"]]", read().one("outcomes").get(5).toString());
    assertEquals(5, scheduler.getRootQueueMetrics().getAllocatedContainers());
    assertEquals(18, scheduler.getRootQueueMetrics().getPendingContainers());

    RMApp other = submit(application().withQueue("b").withUser("bob"));
    MockAM bobs = launchAm(other, nm);
    read();
    report = rounds.commit(ScriptedRounds.allocate(ask(bobs, 1024, 5, 20), node(nm), 20));
    assertEquals("6 of 8 GB were taken in root.lab", 2, report.allocated);
    assertEquals("[[0,18,\"QUEUE_MAX\"]]", read().one("outcomes").get(5).toString());
    QueueInfo info = scheduler.getQueueInfo("root", true, true);
    assertEquals(2, info.getChildQueues().size());
    QueueInfo lab = info.getChildQueues().get(0);
    assertEquals(0.5f, lab.getMaximumCapacity(), 0.001f);
    assertEquals("by weight, as nobody states a guarantee", 0.5f, lab.getCapacity(), 0);
    assertEquals("all of its half", 1f, lab.getCurrentCapacity(), 0.001f);
    assertEquals(0, lab.getQueueStatistics().getReservedContainers());
  }

  /**
   * A move takes the containers' use along. A swap that would leave an application without a queue
   * is refused and names it.
   */
  @Test
  public void movesPrioritiesAndSwaps() throws Exception {
    ScriptedScheduler.policyConfig = tree().text();
    startRm();
    MockNM nm = node("h1", 16384, 16);
    RMApp app = submit(application().withQueue("a"));
    MockAM am = launchAm(app, nm);
    read();
    ask(am, 1024, 5, 4);
    assertThrows(YarnException.class, () -> scheduler.preValidateMoveApplication(app
        .getApplicationId(), "lab.b"));
    scheduler.preValidateMoveApplication(app.getApplicationId(), "open");
    assertEquals("root.open", scheduler.moveApplication(app.getApplicationId(), "open"));
    ScriptedRounds.Batch batch = read();
    assertEquals(4, batch.one("application_changed").get(3).asInt());
    assertEquals(0, scheduler.queues().find("a").containers());
    assertEquals(1024, scheduler.queues().find("open").used()[0]);
    assertEquals(0, scheduler.queues().find("a").getMetrics().getPendingContainers());
    assertEquals(4, scheduler.queues().find("open").getMetrics().getPendingContainers());

    SettableFuture<Object> stored = SettableFuture.create();
    Priority set = scheduler.updateApplicationPriority(Priority.newInstance(50),
        app.getApplicationId(), stored, null);
    assertEquals("at most the cluster's highest", 10, set.getPriority());
    assertEquals(10, read().one("application_changed").get(4).asInt());

    String without = new ConfigText().queue("root", -1, false, "").queue("root.lab", 0, true,
        "").text();
    IOException tried = assertThrows(IOException.class, () -> rounds.check(without));
    IOException refused = assertThrows(IOException.class, () -> rounds.apply(without));
    assertEquals("a dry run says the same", refused.getMessage(), tried.getMessage());
    assertTrue(refused.getMessage(), refused.getMessage().contains("root.open")
        && refused.getMessage().contains(app.getApplicationId().toString()));
    assertEquals("nothing changed", "root.lab.a", scheduler.queues().find("a").path());
    rounds.apply(new ConfigText().queue("root", -1, false, "")
        .queue("root.open", 0, true, "\"maximum\":{\"amounts\":{\"memory_mb\":2048}}").text());
    assertEquals("numbers follow the new policy configuration", 1,
        rounds.snapshot().one("application_added").get(4).asInt());
    assertEquals("use stays", 1024, scheduler.queues().find("open").used()[0]);
    assertEquals(2048, scheduler.queues().find("open").maximum()[0]);
    assertEquals(16, scheduler.queues().find("open").maximum()[1]);
  }
}
