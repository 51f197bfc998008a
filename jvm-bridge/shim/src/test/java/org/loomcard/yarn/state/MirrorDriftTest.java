package org.loomcard.yarn.state;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.Collections;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.junit.Test;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;
import org.loomcard.yarn.wire.PlanMessage;

/** Facts that used to reach the policy wrong, or not at all, while all counts were equal. */
public class MirrorDriftTest extends SchedulerTestBase {
  private MockNM nm;
  private RMApp app;
  private MockAM am;

  @Override
  protected void more(YarnConfiguration settings) {
    settings.setBoolean("yarn.scheduler.include-port-in-node-name", true);
  }

  private void start() throws Exception {
    startRm();
    nm = node("h1", 8192, 8);
    app = submit(application());
    am = launchAm(app, nm);
    read();
  }

  private Container running(int memoryMb) throws Exception {
    rounds.commit(ScriptedRounds.allocate(ask(am, memoryMb, 5, 1), node(nm), 1));
    Container container = collect(am).get(0);
    nm.nodeHeartbeat(app.getCurrentAppAttempt().getAppAttemptId(),
        container.getId().getContainerId(), ContainerState.RUNNING);
    rm.drainEvents();
    read();
    return container;
  }

  /** Asks and blacklists match nodes by this name; the id alone does not contain it. */
  @Test
  public void theNameThatAsksMatchIsReported() throws Exception {
    start();
    assertEquals("h1:1234", node(nm).get(7).asText());
    assertEquals("h1:1234", rounds.snapshot().one("node_added").get(7).asText());
  }

  /** A label that changes while the node is up is reported once. */
  @Test
  public void aNewLabelIsReported() throws Exception {
    start();
    scheduler.handle(new NodeLabelsUpdateSchedulerEvent(Collections.singletonMap(nm.getNodeId(),
        Collections.singleton("ssd"))));
    ScriptedRounds.Batch batch = read();
    assertEquals("ssd", batch.one("node_relabelled").get(3).asText());
    scheduler.handle(new NodeLabelsUpdateSchedulerEvent(Collections.singletonMap(nm.getNodeId(),
        Collections.singleton("ssd"))));
    assertTrue(read().all("node_relabelled").isEmpty());
    assertEquals("ssd", rounds.snapshot().one("node_added").get(6).asText());
  }

  /**
   * Growth that its AM has not fetched is part of the size in a snapshot; when the container ends,
   * all its room is free again.
   */
  @Test
  public void aGrowthThatIsNotFetchedStandsInASnapshot() throws Exception {
    conf.setBoolean("yarn.scheduler.include-port-in-node-name", false);
    start();
    Container container = running(1024);
    am.sendContainerResizingRequest(Collections.singletonList(UpdateContainerRequest.newInstance(
        container.getVersion(), container.getId(), ContainerUpdateType.INCREASE_RESOURCE,
        Resource.newInstance(5120, 1), null)));
    rm.drainEvents();
    assertEquals(5120, read().one("container_resized").get(3).get(0).asInt());
    ScriptedRounds.Batch snapshot = rounds.snapshot();
    assertEquals(5120, snapshot.all("container_added").get(1).get(6).get(0).asInt());
    assertEquals(2048, snapshot.check.get(4).get(0).asInt());
    nm.nodeHeartbeat(app.getCurrentAppAttempt().getAppAttemptId(),
        container.getId().getContainerId(), ContainerState.COMPLETE);
    rm.drainEvents();
    ScriptedRounds.Batch batch = read();
    assertEquals(Arrays.asList("container_resized", "container_completed"), batch.tags());
    assertEquals("[1,1,1,0,[7168,8]]", batch.check.toString());
  }

  /** A preemption with grace survives a snapshot, and so does its start time. */
  @Test
  public void aPreemptionThatWasAnnouncedStandsInASnapshot() throws Exception {
    start();
    running(1024);
    JsonNode added = rounds.snapshot().all("container_added").get(1);
    assertTrue("runs", added.get(13).isIntegralNumber());
    assertTrue("not preempted", added.get(14).isNull());
    rounds.commit(new PlanMessage.Preempt(added.get(2).asLong(), 60_000, "fairness", 0));
    JsonNode taken = rounds.snapshot().all("container_added").get(1);
    assertTrue("preempted", taken.get(14).isIntegralNumber());
    assertEquals(added.get(12), taken.get(12));
    assertEquals(added.get(13), taken.get(13));
  }
}
