package org.loomcard.yarn.queues;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;
import org.loomcard.yarn.ScriptedScheduler;
import org.loomcard.yarn.rounds.CommitReport;

/**
 * The limits that an operator sets by queue: applications, their containers, their lives, their
 * labels.
 */
public class QueueKeysTest extends SchedulerTestBase {
  @Override
  protected void more(YarnConfiguration settings) {
    settings.set(YarnConfiguration.YARN_ADMIN_ACL, "root");
  }

  private void start(String root, String a) throws Exception {
    ScriptedScheduler.policyConfig = tree(root, a);
    startRm();
  }

  private static String tree(String root, String a) {
    return new ConfigText().queue("root", -1, false, root).queue("root.a", 0, true, a)
        .queue("root.b", 0, true, "").text();
  }

  private RMApp accepted(String queue, String user) throws Exception {
    RMApp app = submit(application().withQueue(queue).withUser(user));
    rm.waitForState(app.getApplicationId(), RMAppState.ACCEPTED);
    return app;
  }

  private void rejected(String queue, String user, String message) throws Exception {
    RMApp app = submit(application().withQueue(queue).withUser(user));
    rm.waitForState(app.getApplicationId(), RMAppState.FAILED);
    String diagnostics = app.getDiagnostics().toString();
    assertTrue(diagnostics, diagnostics.contains(message));
    assertTrue(diagnostics, diagnostics.contains(app.getApplicationId().toString()));
  }

  /** The applications that live in a queue are limited, also per user; one that ends makes room. */
  @Test
  public void maximumApplications() throws Exception {
    start("\"maximum_applications\":4",
        "\"maximum_applications\":3,\"maximum_applications_per_user\":2");
    RMApp first = accepted("a", "alice");
    accepted("a", "alice");
    rejected("a", "alice", "Queue root.a already has 2 applications from user alice");
    accepted("a", "bob");
    rejected("a", "carol", "Queue root.a already has 3 applications, cannot accept");
    RMApp other = accepted("b", "carol");
    rejected("b", "carol", "Queue root already has 4 applications, cannot accept");
    ApplicationId id = other.getApplicationId();
    YarnException refused = assertThrows(YarnException.class,
        () -> scheduler.preValidateMoveApplication(id, "a"));
    assertTrue(refused.getMessage(), refused.getMessage().contains("already has 3 applications"));
    rm.killApp(first.getApplicationId());
    rm.waitForState(first.getApplicationId(), RMAppState.KILLED);
    rm.drainEvents();
    assertEquals(2, scheduler.queues().find("a").applications());
    scheduler.preValidateMoveApplication(id, "a");
    assertEquals("root.a", scheduler.moveApplication(id, "a"));
    assertEquals(3, scheduler.queues().find("a").applications());
    assertEquals(1, scheduler.queues().find("a").applicationsOf("carol"));
    assertEquals(0, scheduler.queues().find("b").applications());
    assertEquals(3, scheduler.queues().root().applications());
  }

  /**
   * How many applications run in a queue and below it is limited, also per user: the next one gets
   * no AM until one ends, or is moved to a queue without the limit.
   */
  @Test
  public void maximumRunningApplications() throws Exception {
    start("\"maximum_running_applications_per_user\":{\"*\":2,\"carol\":null}",
        "\"maximum_running_applications\":1");
    MockNM nm = node("h1", 16384, 16);
    RMApp first = accepted("a", "alice");
    assertTrue(getsMaster(master(first), nm));
    RMApp second = accepted("a", "bob");
    JsonNode ofSecond = master(second);
    assertFalse(getsMaster(ofSecond, nm));
    assertEquals("RUNNING_LIMIT", read().one("outcomes").get(5).get(0).get(2).asText());
    assertEquals("root.b", scheduler.moveApplication(second.getApplicationId(), "b"));
    assertTrue(getsMaster(ofSecond, nm));
    assertTrue(getsMaster(master(accepted("b", "bob")), nm));
    assertFalse(getsMaster(master(accepted("b", "bob")), nm));
    for (int i = 0; i < 3; i++) {
      assertTrue(getsMaster(master(accepted("b", "carol")), nm));
    }
    JsonNode next = master(accepted("a", "alice"));
    assertFalse(getsMaster(next, nm));
    rm.killApp(first.getApplicationId());
    rm.waitForState(first.getApplicationId(), RMAppState.KILLED);
    rm.drainEvents();
    assertTrue(getsMaster(next, nm));
  }

  /** Returns the record of the AM's ask of an application that was just accepted. */
  private JsonNode master(RMApp app) throws Exception {
    until("the AM is asked for", () -> app.getCurrentAppAttempt() != null
        && app.getCurrentAppAttempt().getAppAttemptState() == RMAppAttemptState.SCHEDULED);
    rm.drainEvents();
    ScriptedRounds.Batch batch = read();
    int attempt = batch.one("attempt_added").get(2).asInt();
    for (JsonNode ask : batch.all("ask")) {
      if (ask.get(2).asInt() == attempt) {
        return ask;
      }
    }
    throw new AssertionError(batch.all("ask").toString());
  }

  private boolean getsMaster(JsonNode ask, MockNM nm) {
    return rounds.commit(ScriptedRounds.allocate(ask, node(nm), 1)).allocated == 1;
  }

  /** Queue mappings are not read; without a name the queue is YARN's default, if there is one. */
  @Test
  public void theSubmitterNamesTheQueue() throws Exception {
    conf.set("yarn.scheduler.capacity.queue-mappings", "u:alice:root.b");
    conf.setBoolean("yarn.scheduler.capacity.queue-mappings-override.enable", true);
    start("", "");
    assertEquals("root.a", accepted("a", "alice").getQueue());
    assertEquals("root.a", accepted("root.a", "alice").getQueue());
    rejected(null, "alice", "to unknown queue: default. Applications go to one of: root.a, root.b");
    rounds.apply(new ConfigText().queue("root", -1, false, "").queue("root.a", 0, true, "")
        .queue("root.b", 0, false, "").queue("root.b.default", 2, true, "").text());
    assertEquals("root.b.default", accepted(null, "alice").getQueue());
  }

  /**
   * A stopped queue accepts no application, nor does one below it; those in it run to their end.
   */
  @Test
  public void stoppedQueues() throws Exception {
    start("", "");
    RMApp app = accepted("a", "alice");
    RMApp other = accepted("b", "alice");
    rounds.apply(tree("", "\"state\":\"stopped\""));
    rejected("a", "alice", "Queue root.a is DRAINING. Cannot accept submission of application");
    assertThrows(YarnException.class,
        () -> scheduler.preValidateMoveApplication(other.getApplicationId(), "a"));
    assertEquals(QueueState.DRAINING, scheduler.getQueueInfo("a", false, false).getQueueState());
    rm.killApp(app.getApplicationId());
    rm.waitForState(app.getApplicationId(), RMAppState.KILLED);
    rm.drainEvents();
    assertEquals(QueueState.STOPPED, scheduler.getQueueInfo("a", false, false).getQueueState());
    rejected("a", "alice", "Queue root.a is STOPPED. Cannot accept submission of application");
    assertEquals(QueueState.RUNNING, scheduler.getQueueInfo("b", false, false).getQueueState());
    rounds.apply(tree("\"state\":\"draining\"", ""));
    rejected("b", "alice", "Queue root.b is DRAINING. Cannot accept submission of application");
  }

  /** The largest container is the smallest limit of the path; YARN rejects a larger ask. */
  @Test
  public void maximumAllocation() throws Exception {
    start("\"maximum_allocation\":{\"vcores\":2}", "\"maximum_allocation\":{\"memory_mb\":2048}");
    assertEquals(Resource.newInstance(2048, 2), scheduler.getMaximumResourceCapability("root.a"));
    assertEquals(2, scheduler.getMaximumResourceCapability("b").getVirtualCores());
    assertEquals(scheduler.getMaximumResourceCapability().getMemorySize(),
        scheduler.getMaximumResourceCapability("b").getMemorySize());
    MockNM nm = node("h1", 8192, 8);
    RMApp app = submit(application().withQueue("a"));
    MockAM am = launchAm(app, nm);
    YarnException refused = assertThrows(YarnException.class,
        () -> am.allocate("*", 3072, 1, new ArrayList<ContainerId>()));
    assertTrue(refused.getMessage(), refused.getMessage().contains("memory"));
    ask(am, 2048, 5, 1);
  }

  /** An application lives as long as it requests, up to the queue's maximum. */
  @Test
  public void lifetimes() throws Exception {
    start("", "\"maximum_lifetime_s\":600,\"default_lifetime_s\":60");
    assertEquals(60, scheduler.checkAndGetApplicationLifetime("root.a", -1));
    assertEquals(90, scheduler.checkAndGetApplicationLifetime("a", 90));
    assertEquals(600, scheduler.checkAndGetApplicationLifetime("root.a", 900));
    assertEquals(600, scheduler.getMaximumApplicationLifetime("root.a"));
    assertEquals(-1, scheduler.checkAndGetApplicationLifetime("root.b", -1));
    assertEquals(900, scheduler.checkAndGetApplicationLifetime("root.b", 900));
    RMApp app = accepted("a", "alice");
    assertEquals("YARN keeps it", 1, app.getApplicationTimeouts().size());
  }

  /** An application is recorded with the path of its queue, whatever name its user gave. */
  @Test
  public void shortNamesSurviveAnotherTree() throws Exception {
    start("", "");
    RMApp app = accepted("a", "alice");
    RMApp moved = accepted("b", "alice");
    assertEquals("root.a", app.getQueue());
    rm.getRMContext().getScheduler().moveApplication(moved.getApplicationId(), "a");
    MemoryRMStateStore store = (MemoryRMStateStore) rm.getRMStateStore();
    assertEquals("root.a", store.getState().getApplicationState().get(moved.getApplicationId())
        .getApplicationSubmissionContext().getQueue());
    ScriptedScheduler.policyConfig = new ConfigText().queue("root", -1, false, "")
        .queue("root.a", 0, true, "").queue("root.c", 0, false, "").queue("root.c.a", 2, true, "")
        .text();
    restartRm();
    for (RMApp before : Arrays.asList(app, moved)) {
      rm.waitForState(before.getApplicationId(), RMAppState.ACCEPTED);
    }
    assertEquals(2, scheduler.queues().find("root.a").applications());
  }

  /** YARN's administrators are on no queue's list: they may submit only where the list says so. */
  @Test
  public void administratorsOfYarnAreOnNoList() throws Exception {
    start("\"submit\":[],\"administer\":[]", "\"submit\":[\"root\"],\"administer\":[]");
    UserGroupInformation root = UserGroupInformation.createRemoteUser("root");
    assertTrue(scheduler.checkAccess(root, QueueACL.SUBMIT_APPLICATIONS, "root.a"));
    assertEquals(false, scheduler.checkAccess(root, QueueACL.SUBMIT_APPLICATIONS, "root"));
    assertEquals(false, scheduler.checkAccess(root, QueueACL.ADMINISTER_QUEUE, "root"));
  }

  /** A queue uses the labels it may, to its maximum there; its use follows the node's label. */
  @Test
  public void labels() throws Exception {
    start("", "\"labels\":[\"gpu\"],\"label_maximum_ppm\":{\"gpu\":500000}");
    assertEquals(Collections.singleton("gpu"),
        scheduler.getQueueInfo("a", false, false).getAccessibleNodeLabels());
    MockNM plain = node("h1", 8192, 8);
    MockNM gpu = node("h2", 4096, 4);
    label(gpu, "gpu");
    MockAM am = launchAm(submit(application().withQueue("a")), plain);
    assertEquals("nothing of the other label", 8192 - 1024, headroom(am));
    CommitReport report = rounds.commit(ScriptedRounds.allocate(ask(am, "gpu"), node(gpu), 4));
    assertEquals("half of 4 GB", 2, report.allocated);
    assertEquals("[[0,2,\"QUEUE_MAX\"]]", read().one("outcomes").get(5).toString());
    assertEquals(2048, scheduler.queues().find("a").usedOn("gpu")[0]);
    assertEquals("both partitions, to the maximum", 8192 - 1024, headroom(am));
    label(gpu, "ssd");
    assertEquals(0, scheduler.queues().find("a").usedOn("gpu")[0]);
    assertEquals(2048, scheduler.queues().find("a").usedOn("ssd")[0]);
    read();
    report = rounds.commit(ScriptedRounds.allocate(ask(am, "ssd"), node(gpu), 1));
    assertEquals("[[0,1,\"LABEL\"]]", read().one("outcomes").get(5).toString());
    MockAM other = launchAm(submit(application().withQueue("b")), plain);
    report = rounds.commit(ScriptedRounds.allocate(ask(other, "ssd"), node(gpu), 1));
    assertEquals("every queue but those that name theirs", 1, report.allocated);
  }

  private void label(MockNM nm, String name) {
    Map<NodeId, Set<String>> labels = new HashMap<>();
    labels.put(nm.getNodeId(), new HashSet<>(Collections.singletonList(name)));
    scheduler.handle(new NodeLabelsUpdateSchedulerEvent(labels));
  }

  /** Calls the scheduler directly: YARN's own checks of labels need its store of labels. */
  private JsonNode ask(MockAM am, String label) throws Exception {
    ResourceRequest row = am.createResourceReq("*", 1024, 7, 4);
    row.setNodeLabelExpression(label);
    scheduler.allocate(am.getApplicationAttemptId(), new ArrayList<>(Collections.singletonList(
        row)), null, new ArrayList<>(), null, null, null);
    rm.drainEvents();
    return read().one("ask");
  }

  private long headroom(MockAM am) throws Exception {
    long memory = am.allocate(new ArrayList<ResourceRequest>(), new ArrayList<ContainerId>())
        .getAvailableResources().getMemorySize();
    rm.drainEvents();
    return memory;
  }
}
