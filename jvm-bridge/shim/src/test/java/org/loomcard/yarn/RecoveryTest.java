package org.loomcard.yarn;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.TestRMRestart;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.junit.Test;

/** What outlives an AM, and what outlives the ResourceManager. */
public class RecoveryTest extends SchedulerTestBase {
  private void report(MockNM nm, RMApp app, long container, ContainerState state) throws Exception {
    nm.nodeHeartbeat(app.getCurrentAppAttempt().getAppAttemptId(), container, state);
    rm.drainEvents();
  }

  /**
   * The containers of an AM that dies end with it; the second attempt asks again and is admitted.
   */
  @Test
  public void secondAttempt() throws Exception {
    startRm();
    MockNM nm = node("h1", 8192, 8);
    RMApp app = submit(application().withMaxAppAttempts(2));
    MockAM am = launchAm(app, nm);
    read();
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 3), node(nm), 2));
    collect(am);
    assertEquals("[1,1,3,1,[5120,8]]", read().check.toString());
    report(nm, app, 1, ContainerState.COMPLETE);
    until("the second attempt", () -> app.getAppAttempts().size() == 2
        && app.getCurrentAppAttempt().getAppAttemptState() == RMAppAttemptState.SCHEDULED);
    rm.drainEvents();
    ScriptedRounds.Batch batch = read();
    assertEquals(3, batch.all("container_completed").size());
    assertEquals(2, batch.one("attempt_added").get(4).asInt());
    assertTrue(batch.one("ask").get(5).asBoolean());
    assertEquals("[1,1,0,1,[8192,8]]", batch.check.toString());
    assertEquals("[0, 0]", Arrays.toString(scheduler.queues().root().usedByAms()));
    assertEquals(1,
        rounds.commit(ScriptedRounds.allocate(batch.one("ask"), node(nm), 1)).allocated);
  }

  /** With keepContainers the running ones continue under the next attempt. */
  @Test
  public void containersThatAreKept() throws Exception {
    startRm();
    MockNM nm = node("h1", 8192, 8);
    RMApp app = submit(application().withMaxAppAttempts(2).withKeepContainers(true));
    MockAM am = launchAm(app, nm);
    read();
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 2), node(nm), 2));
    List<Container> containers = collect(am);
    report(nm, app, containers.get(0).getId().getContainerId(), ContainerState.RUNNING);
    read();
    report(nm, app, 1, ContainerState.COMPLETE);
    until("the second attempt", () -> app.getAppAttempts().size() == 2
        && app.getCurrentAppAttempt().getAppAttemptState() == RMAppAttemptState.SCHEDULED);
    rm.drainEvents();
    ScriptedRounds.Batch batch = read();
    assertEquals("the AM, and the one that did not run", 2,
        batch.all("container_completed").size());
    assertEquals("[1,1,1,1,[7168,8]]", batch.check.toString());
    assertEquals(1024, scheduler.queues().root().used()[0]);
    ScriptedRounds.Batch snapshot = rounds.snapshot();
    assertEquals("[1,1,1,1,[7168,8]]", snapshot.check.toString());
    assertEquals(1, snapshot.all("container_added").size());
    nm.nodeHeartbeat(containers.get(0).getId().getApplicationAttemptId(),
        containers.get(0).getId().getContainerId(), ContainerState.COMPLETE);
    rm.drainEvents();
    assertEquals("[1,1,0,1,[8192,8]]", read().check.toString());
    assertEquals(0, scheduler.queues().root().used()[0]);
  }

  /**
   * After a restart of the ResourceManager the nodes' reports bring the containers back, each
   * counted once.
   */
  @Test
  public void restartOfTheResourceManager() throws Exception {
    startRm();
    MockNM nm = node("h1", 8192, 8);
    RMApp app = submit(application());
    MockAM am = launchAm(app, nm);
    read();
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 2), node(nm), 2));
    List<Container> containers = collect(am);
    for (Container container : containers) {
      report(nm, app, container.getId().getContainerId(), ContainerState.RUNNING);
    }
    read();
    restartRm();
    nm.setResourceTrackerService(rm.getResourceTrackerService());
    List<NMContainerStatus> reports = new ArrayList<>();
    for (int i = 1; i <= 3; i++) {
      reports.add(TestRMRestart.createNMContainerStatus(am.getApplicationAttemptId(), i,
          ContainerState.RUNNING));
    }
    nm.registerNode(reports, null);
    rm.drainEvents();
    ScriptedRounds.Batch batch = read();
    assertEquals(3, batch.all("container_added").size());
    assertEquals("recovered", batch.all("container_added").get(0).get(11).asText());
    assertEquals("[1,1,3,0,[5120,5]]", batch.check.toString());
    assertEquals(3072, scheduler.queues().root().used()[0]);
    assertEquals("the AM's is known as such", 1024, scheduler.queues().root().usedByAms()[0]);
    assertEquals(3, scheduler.getRootQueueMetrics().getAllocatedContainers());

    am.setAMRMProtocol(rm.getApplicationMasterService(), rm.getRMContext());
    am.registerAppAttempt(false);
    rm.waitForState(app.getApplicationId(), RMAppState.RUNNING);
    am.allocate("*", 1024, 1, new ArrayList<ContainerId>());
    rm.drainEvents();
    JsonNode ask = read().one("ask");
    assertEquals(1, rounds.commit(ScriptedRounds.allocate(ask, node(nm), 1)).allocated);
    List<Container> more = collect(am);
    assertFalse("a number of the life before is not given again",
        containers.stream().anyMatch(old -> old.getId().equals(more.get(0).getId())));
    assertTrue(am.allocate(new ArrayList<ResourceRequest>(), new ArrayList<ContainerId>())
        .getAllocatedContainers().isEmpty());
  }

  /**
   * A container of the earlier attempt, on a node that comes back after the AM has registered,
   * reaches the AM together with the token for its node.
   */
  @Test
  public void tokensForContainersOfThePreviousAttempt() throws Exception {
    startRm();
    MockNM nm = node("h1", 8192, 8);
    MockNM second = node("h2", 8192, 8);
    RMApp app = submit(application().withMaxAppAttempts(2).withKeepContainers(true));
    MockAM am = launchAm(app, nm);
    read();
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 1), node(second), 1));
    Container kept = collect(am).get(0);
    second.nodeHeartbeat(am.getApplicationAttemptId(), kept.getId().getContainerId(),
        ContainerState.RUNNING);
    rm.drainEvents();
    report(nm, app, 1, ContainerState.COMPLETE);
    until("the second attempt", () -> app.getAppAttempts().size() == 2
        && app.getCurrentAppAttempt().getAppAttemptState() == RMAppAttemptState.SCHEDULED);
    am = launchAm(app, nm);
    restartRm();
    nm.setResourceTrackerService(rm.getResourceTrackerService());
    nm.registerNode(Collections.singletonList(TestRMRestart.createNMContainerStatus(
        am.getApplicationAttemptId(), 1, ContainerState.RUNNING)), null);
    rm.drainEvents();
    am.setAMRMProtocol(rm.getApplicationMasterService(), rm.getRMContext());
    am.registerAppAttempt(false);
    second.setResourceTrackerService(rm.getResourceTrackerService());
    second.registerNode(Collections.singletonList(TestRMRestart.createNMContainerStatus(
        kept.getId().getApplicationAttemptId(), (int) kept.getId().getContainerId(),
        ContainerState.RUNNING)), null);
    rm.drainEvents();
    AllocateResponse answer = am.allocate(new ArrayList<ResourceRequest>(),
        new ArrayList<ContainerId>());
    assertEquals(kept.getId(), answer.getContainersFromPreviousAttempts().get(0).getId());
    assertEquals(second.getNodeId(), answer.getNMTokens().get(0).getNodeId());
  }
}
