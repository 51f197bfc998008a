package org.loomcard.yarn.commit;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.junit.Test;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;
import org.loomcard.yarn.ScriptedScheduler;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.wire.EngineClock;

/** Running containers that grow and shrink; nothing is decided, but everything is counted. */
public class ContainerResizeTest extends SchedulerTestBase {
  private MockNM nm;
  private RMApp app;
  private MockAM am;
  private Container container;

  private void start() throws Exception {
    startRm();
    nm = node("h1", 8192, 8);
    app = submit(application());
    am = launchAm(app, nm);
    read();
    JsonNode ask = ask(am, 1024, 5, 1);
    rounds.commit(ScriptedRounds.allocate(ask, node(nm), 1));
    container = collect(am).get(0);
    nm.nodeHeartbeat(app.getCurrentAppAttempt().getAppAttemptId(),
        container.getId().getContainerId(), ContainerState.RUNNING);
    rm.drainEvents();
    read();
  }

  private AllocateResponse resize(ContainerUpdateType type, int memoryMb) throws Exception {
    AllocateResponse response = am.sendContainerResizingRequest(Collections.singletonList(
        UpdateContainerRequest.newInstance(container.getVersion(), container.getId(), type,
            Resource.newInstance(memoryMb, 1), null)));
    rm.drainEvents();
    return response;
  }

  /** Growth takes room at once and reaches the AM with its next heartbeat; all counts agree. */
  @Test
  public void growthAndShrinking() throws Exception {
    start();
    long unused = 8192 - 2048;
    assertEquals(unused, scheduler.getSchedulerNode(nm.getNodeId()).getUnallocatedResource()
        .getMemorySize());
    resize(ContainerUpdateType.INCREASE_RESOURCE, 3072);
    assertTrue("asked for, so a round is wanted", rounds.hasPendingEvents());
    ScriptedRounds.Batch batch = read();
    assertEquals(3072, batch.one("container_resized").get(3).get(0).asInt());
    assertEquals("an increase is no ask that a policy sees", "[1,1,2,0,[4096,7]]",
        batch.check.toString());
    AllocateResponse response = am.allocate(new ArrayList<ResourceRequest>(),
        new ArrayList<ContainerId>());
    rm.drainEvents();
    assertEquals(1, response.getUpdatedContainers().size());
    container = response.getUpdatedContainers().get(0).getContainer();
    assertEquals(3072, container.getResource().getMemorySize());
    assertEquals(1024 + 3072, scheduler.queues().root().used()[0]);
    assertEquals(unused - 2048, scheduler.getSchedulerNode(nm.getNodeId())
        .getUnallocatedResource().getMemorySize());
    assertEquals("[1,1,2,0,[4096,7]]", read().check.toString());

    response = resize(ContainerUpdateType.DECREASE_RESOURCE, 2048);
    assertEquals(2048, response.getUpdatedContainers().get(0).getContainer().getResource()
        .getMemorySize());
    assertEquals(2048, read().one("container_resized").get(3).get(0).asInt());
    assertEquals(1024 + 2048, scheduler.queues().root().used()[0]);
    assertEquals(unused - 1024, scheduler.getSchedulerNode(nm.getNodeId())
        .getUnallocatedResource().getMemorySize());
  }

  /**
   * If a node moves to another partition between the allocation of growth and its fetch, nothing is
   * left.
   */
  @Test
  public void growthOnANodeThatIsRelabelled() throws Exception {
    start();
    resize(ContainerUpdateType.INCREASE_RESOURCE, 3072);
    read();
    scheduler.handle(new NodeLabelsUpdateSchedulerEvent(Collections.singletonMap(nm.getNodeId(),
        Collections.singleton("gpu"))));
    am.allocate(new ArrayList<ResourceRequest>(), new ArrayList<ContainerId>());
    rm.drainEvents();
    rm.killApp(app.getApplicationId());
    rm.waitForState(app.getApplicationId(), RMAppState.KILLED);
    rm.drainEvents();
    QueueMetrics metrics = scheduler.queues().root().getMetrics();
    assertEquals(0, metrics.getAllocatedContainers());
    assertEquals(0, metrics.getAllocatedMB());
  }

  /** Growth beyond the node's room waits, and starts no round until events are pending. */
  @Test
  public void growthThatDoesNotFitWaits() throws Exception {
    start();
    JsonNode ask = ask(am, 1024, 5, 6);
    rounds.commit(ScriptedRounds.allocate(ask, node(nm), 6));
    Container other = collect(am).get(0);
    read();
    resize(ContainerUpdateType.INCREASE_RESOURCE, 2048);
    assertTrue(read().all("container_resized").isEmpty());
    assertEquals("no event, no round", false, rounds.hasPendingEvents());
    am.allocate(new ArrayList<ResourceRequest>(), Arrays.asList(other.getId()));
    rm.drainEvents();
    ScriptedRounds.Batch batch = read();
    assertEquals(Arrays.asList("container_completed", "container_resized"), batch.tags());
  }

  /** Room that is freed after the look at the changes, within the same batch, is found. */
  @Test
  public void roomThatIsFreedWhileABatchIsClosed() throws Exception {
    start();
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 6), node(nm), 6));
    ContainerId other = collect(am).get(0).getId();
    BeforeLock lock = new BeforeLock();
    PlanCommitter committer = new PlanCommitter(scheduler.cluster(), lock, null,
        scheduler.metrics());
    ContainerResizes resizes = new ContainerResizes(scheduler.cluster(), committer, lock,
        System::nanoTime);
    ScriptedRounds others = new ScriptedRounds(new LockedSchedulerState(scheduler.cluster(),
        scheduler.queues(), committer, null, null, resizes, lock, () -> true),
        EngineClock.forScheduler(scheduler.startedAtMs()), ScriptedScheduler.policyConfig);
    ContainerUpdates updates = new ContainerUpdates();
    updates.getIncreaseRequests().add(UpdateContainerRequest.newInstance(container.getVersion(),
        container.getId(), ContainerUpdateType.INCREASE_RESOURCE, Resource.newInstance(2048, 1),
        null));
    LoomcardAttempt attempt = scheduler.getApplicationAttempt(am.getApplicationAttemptId());
    scheduler.allocate(am.getApplicationAttemptId(), new ArrayList<>(), null,
        new ArrayList<ContainerId>(), null, null, updates);
    resizes.asked(attempt, updates);
    lock.first = () -> scheduler.completedContainer(scheduler.getRMContainer(other),
        SchedulerUtils.createAbnormalContainerStatus(other, "done"),
        RMContainerEventType.RELEASED);
    ScriptedRounds.Batch batch = others.batch();
    assertEquals("the batch reported it", 1, batch.all("container_completed").size());
    assertTrue(batch.all("container_resized").isEmpty());
    assertTrue("a further round is wanted", others.hasPendingEvents());
    assertEquals(Arrays.asList("container_resized"), others.batch().tags());
    assertFalse("and no third", others.hasPendingEvents());
  }

  /** Runs an action just before the lock is taken for the first time. */
  private static final class BeforeLock extends ReentrantLock {
    private static final long serialVersionUID = 1L;
    private transient Runnable first;

    @Override
    public void lock() {
      Runnable now = first;
      first = null;
      if (now != null) {
        now.run();
      }
      super.lock();
    }
  }

  /** YARN's metrics count an increase that another change replaces like any other. */
  @Test
  public void replacedGrowthIsNotCounted() throws Exception {
    start();
    long allocated = scheduler.queues().root().getMetrics().getAllocatedMB();
    resize(ContainerUpdateType.INCREASE_RESOURCE, 3072);
    resize(ContainerUpdateType.INCREASE_RESOURCE, 4096);
    assertEquals(allocated, scheduler.queues().root().getMetrics().getAllocatedMB());
    assertEquals(4096 - 1024, scheduler.queues().root().getMetrics().getPendingMB());
  }
}
