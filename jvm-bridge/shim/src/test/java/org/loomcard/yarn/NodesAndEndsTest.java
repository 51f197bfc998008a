package org.loomcard.yarn;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNotSame;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.commons.lang3.reflect.FieldUtils;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeResourceUpdateSchedulerEvent;
import org.junit.Test;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.wire.PlanMessage;

/** How containers end, and what happens to nodes. */
public class NodesAndEndsTest extends SchedulerTestBase {
  private MockNM nm;
  private RMApp app;
  private MockAM am;

  private void start() throws Exception {
    startRm();
    nm = node("h1", 8192, 8);
    app = submit(application());
    am = launchAm(app, nm);
    read();
  }

  private List<Container> allocated(int count) throws Exception {
    JsonNode ask = ask(am, 1024, 5, count);
    assertEquals(count, rounds.commit(ScriptedRounds.allocate(ask, node(nm), count)).allocated);
    return collect(am);
  }

  private void report(Container container, ContainerState state) throws Exception {
    nm.nodeHeartbeat(app.getCurrentAppAttempt().getAppAttemptId(),
        container.getId().getContainerId(), state);
    rm.drainEvents();
  }

  private void release(Container container) throws Exception {
    am.allocate(new ArrayList<ResourceRequest>(), Collections.singletonList(container.getId()));
    rm.drainEvents();
  }

  /**
   * A reader of metrics before the first policy configuration, such as a standby's page, gets the
   * root's.
   */
  @Test
  public void metricsOfTheRootAreThereBeforeAnyConfig() throws Exception {
    try (MockRM early = new MockRM(conf)) {
      QueueMetrics before = early.getResourceScheduler().getRootQueueMetrics();
      early.start();
      assertSame(before, early.getResourceScheduler().getRootQueueMetrics());
    }
  }

  /**
   * A released container that runs is reported as completed when its node has the room again, and
   * only then.
   */
  @Test
  public void roomIsReportedWhenItIsFree() throws Exception {
    start();
    List<Container> containers = allocated(2);
    report(containers.get(0), ContainerState.RUNNING);
    assertEquals(1, read().all("container_started").size());
    release(containers.get(0));
    assertEquals(1, scheduler.queues().root().containers() - 1);
    assertTrue("its room is not free yet", read().all("container_completed").isEmpty());
    report(containers.get(0), ContainerState.COMPLETE);
    assertEquals("released", read().one("container_completed").get(3).asText());
    release(containers.get(1));
    ScriptedRounds.Batch batch = read();
    assertEquals("one that never ran is free at once", "released",
        batch.one("container_completed").get(3).asText());
    assertEquals("[1,1,1,0,[7168,8]]", batch.check.toString());
  }

  /**
   * If a container is killed before its AM has fetched it, the ResourceManager asks for it again.
   */
  @Test
  public void anUnfetchedContainerIsAskedForAgain() throws Exception {
    start();
    JsonNode ask = ask(am, 1024, 5, 1);
    rounds.commit(ScriptedRounds.allocate(ask, node(nm), 1));
    long number = read().one("outcomes").get(3).asLong();
    assertEquals(1, rounds.commit(new PlanMessage.Preempt(number, 0, "fairness", 0)).preempted);
    rm.drainEvents();
    ScriptedRounds.Batch batch = read();
    assertEquals("preempted", batch.one("container_completed").get(3).asText());
    assertEquals(1, batch.one("ask").get(7).asInt());
    assertEquals("[1,1,1,1,[7168,8]]", batch.check.toString());
    rounds.commit(new PlanMessage.Preempt(number, 0, "again", 0));
    assertEquals("STALE", read().one("outcomes").get(5).get(0).get(2).asText());
  }

  /**
   * An AM that asks while containers wait for it means these too, if the operator says so; YARN can
   * do that since 3.5. What is then too many is not handed out and not asked for again.
   */
  @Test
  public void anAskCountsTheContainersThatWaitForItsAm() throws Exception {
    conf.setBoolean("yarn.resourcemanager.scheduler.autocorrect.container.allocation", true);
    boolean corrects = Arrays.stream(AbstractYarnScheduler.class.getDeclaredMethods())
        .anyMatch(method -> method.getName().equals("autoCorrectContainerAllocation"));
    start();
    assertEquals(3, rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 3), node(nm),
        3)).allocated);
    read();
    assertEquals(corrects ? 1 : 3, am.allocate("*", 1024, 1, 5, new ArrayList<ContainerId>(),
        null).getAllocatedContainers().size());
    rm.drainEvents();
    ScriptedRounds.Batch batch = read();
    assertEquals(corrects ? 2 : 0, batch.all("container_completed").size());
    assertEquals(corrects ? "[1,1,2,0,[6144,8]]" : "[1,1,4,1,[4096,8]]", batch.check.toString());
  }

  /** The kill that YARN's own tests use ends a container like any other that is taken back. */
  @Test
  public void aContainerThatTheSchedulerKillsEndsAsPreempted() throws Exception {
    start();
    Container container = allocated(1).get(0);
    report(container, ContainerState.RUNNING);
    scheduler.killContainer(scheduler.getRMContainer(container.getId()));
    rm.drainEvents();
    AllocateResponse response = am.allocate(new ArrayList<ResourceRequest>(),
        new ArrayList<ContainerId>());
    assertEquals(ContainerExitStatus.PREEMPTED,
        response.getCompletedContainersStatuses().get(0).getExitStatus());
    report(container, ContainerState.COMPLETE);
    assertEquals("preempted", read().one("container_completed").get(3).asText());
  }

  /**
   * With grace, the AM is notified first; the container is killed by a heartbeat after the grace is
   * over.
   */
  @Test
  public void preemptionWithGrace() throws Exception {
    start();
    Container container = allocated(1).get(0);
    long number = read().one("outcomes").get(3).asLong();
    report(container, ContainerState.RUNNING);
    rounds.commit(new PlanMessage.Preempt(number, 4000, "fairness", 0));
    AllocateResponse response = am.allocate(new ArrayList<ResourceRequest>(),
        new ArrayList<ContainerId>());
    assertNotNull(response.getPreemptionMessage());
    assertEquals(container.getId(),
        response.getPreemptionMessage().getStrictContract().getContainers().iterator()
        .next().getId());
    nm.nodeHeartbeat(true);
    rm.drainEvents();
    assertNotNull("grace is not over", scheduler.getRMContainer(container.getId()));
    until("the kill", () -> {
      try {
        nm.nodeHeartbeat(true);
        rm.drainEvents();
      } catch (Exception e) {
        throw new AssertionError(e);
      }
      return scheduler.getRMContainer(container.getId()) == null;
    });
    report(container, ContainerState.COMPLETE);
    assertEquals("preempted", read().one("container_completed").get(3).asText());
  }

  /**
   * The containers of a lost node are reported before the node itself; a node that comes back is a
   * new node.
   */
  @Test
  public void lossAndReturnOfANode() throws Exception {
    start();
    MockNM second = node("h2", 4096, 4);
    assertEquals(12, scheduler.queues().root().maximum()[1]);
    read();
    JsonNode ask = ask(am, 1024, 5, 2);
    rounds.commit(ScriptedRounds.allocate(ask, node(second), 2));
    int before = node(second).get(2).asInt();
    collect(am);
    read();
    rm.sendNodeLost(second);
    rm.drainEvents();
    ScriptedRounds.Batch batch = read();
    assertEquals(2, batch.all("container_completed").size());
    assertEquals("lost", batch.all("container_completed").get(0).get(3).asText());
    assertTrue(batch.tags().indexOf("node_removed") > batch
        .tags().lastIndexOf("container_completed"));
    assertEquals("lost", batch.one("node_removed").get(3).asText());
    assertEquals(8, scheduler.queues().root().maximum()[1]);
    assertEquals(1, batch.check.get(2).asInt());
    second.registerNode();
    rm.drainEvents();
    assertTrue(read().one("node_added").get(2).asInt() > before);
    scheduler.handle(new NodeResourceUpdateSchedulerEvent(rm.getRMContext().getRMNodes().get(second
        .getNodeId()),
        ResourceOption.newInstance(Resource.newInstance(2048, 2), 0)));
    assertEquals("[2048,2]", read().one("node_resized").get(3).toString());
    assertEquals(10, scheduler.queues().root().maximum()[1]);
  }

  /**
   * If nodes come and are relabelled, the amounts of the queues are computed once, when they are
   * read, not once per node.
   */
  @Test
  public void amountsAreComputedOnceForManyNodes() throws Exception {
    startRm();
    LoomcardQueue root = scheduler.queues().root();
    Object before = FieldUtils.readField(root, "labels", true);
    Map<NodeId, Set<String>> labels = new HashMap<>();
    for (int i = 0; i < 3; i++) {
      labels.put(node("h" + i, 1024, 1).getNodeId(), Collections.singleton("gpu"));
    }
    scheduler.handle(new NodeLabelsUpdateSchedulerEvent(labels));
    assertSame(before, FieldUtils.readField(root, "labels", true));
    read();
    assertNotSame(before, FieldUtils.readField(root, "labels", true));
    assertEquals(3, root.maximum()[1]);
  }

  /** Heartbeats are reported, also idle ones, while the policy configuration needs them. */
  @Test
  public void heartbeatsWhereTheyAreNeeded() throws Exception {
    ScriptedScheduler.policyConfig = new ConfigText().heartbeats().queue("root", -1, false, "")
        .queue("root.default", 0, true, "").text();
    startRm();
    nm = node("h1", 8192, 8);
    nm.nodeHeartbeat(true);
    rm.drainEvents();
    nm.nodeHeartbeat(true);
    rm.drainEvents();
    assertEquals(2, read().all("node_heartbeat").size());
    assertFalse(rounds.hasPendingEvents());
  }

  /**
   * The batch with a new ask is urgent, and the one after it; later ones, which have only
   * heartbeats and ends, are not while the ask still waits.
   */
  @Test
  public void onlyNewAsksAreUrgent() throws Exception {
    ScriptedScheduler.policyConfig = new ConfigText().heartbeats().queue("root", -1, false, "")
        .queue("root.default", 0, true, "").text();
    start();
    Container container = allocated(1).get(0);
    read();
    read();
    assertFalse("no ask waits", rounds.isUrgent());
    am.allocate("*", 1024, 3, 5, new ArrayList<ContainerId>(), "");
    assertTrue("an ask", rounds.isUrgent());
    read();
    assertTrue("the batch after it", rounds.isUrgent());
    read();
    assertTrue("it still waits", scheduler.cluster().hasDemand());
    report(container, ContainerState.COMPLETE);
    assertTrue("a heartbeat and an end", rounds.hasPendingEvents());
    assertFalse(rounds.isUrgent());
  }

  /**
   * When all that an ask wants was allocated, the next batch is not urgent, although asks wait that
   * earlier rounds left waiting; it is while a part of the ask waits.
   */
  @Test
  public void anAskThatWasServedIsNoLongerUrgent() throws Exception {
    ScriptedScheduler.policyConfig = new ConfigText().heartbeats().queue("root", -1, false, "")
        .queue("root.default", 0, true, "").text();
    start();
    ask(am, 1024, 5, 3);
    rounds.commit();
    assertTrue("it is new", rounds.isUrgent());
    read();
    rounds.commit();
    assertFalse("it was left waiting", rounds.isUrgent());
    JsonNode ask = ask(am, 1024, 6, 2);
    rounds.commit(ScriptedRounds.allocate(ask, node(nm), 1));
    assertTrue("one more container", rounds.isUrgent());
    ask = ask(am, 1024, 7, 1);
    rounds.commit(ScriptedRounds.allocate(ask, node(nm), 1));
    assertTrue("the one of before", rounds.isUrgent());
    read();
    rounds.commit();
    ask = ask(am, 1024, 8, 1);
    rounds.commit(ScriptedRounds.allocate(ask, node(nm), 1));
    assertTrue(scheduler.cluster().hasDemand());
    assertFalse(rounds.isUrgent());
  }
}
