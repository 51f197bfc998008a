package org.loomcard.yarn.state;

import static org.junit.Assert.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.scheduler.OpportunisticContainerContext;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;
import org.loomcard.yarn.ScriptedScheduler;
import org.loomcard.yarn.queues.Amounts;

/**
 * YARN lets a container shrink through a second container, which it never counts as begun. Whatever
 * happens in between, the metrics of every queue and partition are right afterwards.
 */
public class ShrinkMetricsTest extends SchedulerTestBase {
  private MockNM plain;
  private MockNM gpu;
  private RMApp app;
  private MockAM am;
  /** What YARN's metrics, which outlive a test, showed for each queue and partition before. */
  private final Map<String, long[]> before = new HashMap<>();

  @Override
  protected void more(YarnConfiguration settings) {
    settings.setBoolean(YarnConfiguration.NODE_LABELS_ENABLED, true);
  }

  /** A plain node, on which the AM runs, and one of gpu, which takes asks without a label. */
  private void start() throws Exception {
    ScriptedScheduler.policyConfig = new ConfigText().queue("root", -1, false, "")
        .queue("root.default", 0, true, "").queue("root.other", 0, true, "").text();
    startRm();
    RMNodeLabelsManager labels = rm.getRMContext().getNodeLabelManager();
    labels.addToCluserNodeLabels(Arrays.asList(NodeLabel.newInstance("gpu", false)));
    labels.replaceLabelsOnNode(Collections.singletonMap(NodeId.newInstance("h2", 0),
        Collections.singleton("gpu")));
    rm.drainEvents();
    for (String queue : Arrays.asList("default", "other")) {
      before.put(queue, counted(queue, ""));
      before.put(queue + " gpu", counted(queue, "gpu"));
    }
    plain = node("h1", 8192, 64);
    gpu = node("h2", 8192, 64);
    app = submit(application().withMaxAppAttempts(2).withKeepContainers(true));
    am = launchAm(app, plain);
    read();
  }

  private long[] counted(String queue, String partition) {
    QueueMetrics metrics = scheduler.queues().find(queue).getMetrics();
    QueueMetrics of = partition.isEmpty() ? metrics : metrics.getPartitionQueueMetrics(partition);
    return new long[] {of.getAllocatedMB(), of.getAllocatedVirtualCores(),
        of.getAllocatedContainers()};
  }

  /** Returns memory, vcores and containers of a queue, without a label and on gpu. */
  private String metrics(String queue) {
    long[] plainOnes = counted(queue, "");
    long[] ofGpu = counted(queue, "gpu");
    Amounts.add(plainOnes, Amounts.negative(before.get(queue)));
    Amounts.add(ofGpu, Amounts.negative(before.get(queue + " gpu")));
    return Arrays.toString(plainOnes) + " " + Arrays.toString(ofGpu);
  }

  private Container runOne(MockNM nm) throws Exception {
    JsonNode ask = ask(am, 3072, 5, 1);
    rounds.commit(ScriptedRounds.allocate(ask, node(nm), 1));
    Container container = collect(am).get(0);
    report(nm, container, ContainerState.RUNNING);
    return container;
  }

  private void report(MockNM nm, Container container, ContainerState state) throws Exception {
    nm.nodeHeartbeat(container.getId().getApplicationAttemptId(),
        container.getId().getContainerId(), state);
    rm.drainEvents();
    read();
  }

  private Container resize(Container container, ContainerUpdateType type, int memoryMb)
      throws Exception {
    am.sendContainerResizingRequest(Collections.singletonList(UpdateContainerRequest.newInstance(
        container.getVersion(), container.getId(), type, Resource.newInstance(memoryMb, 0),
        null)));
    rm.drainEvents();
    read();
    return scheduler.getRMContainer(container.getId()).getContainer();
  }

  private void call() throws Exception {
    am.allocate(new ArrayList<ResourceRequest>(), new ArrayList<ContainerId>());
    rm.drainEvents();
  }

  private void end() throws Exception {
    am.unregisterAppAttempt(false);
    plain.nodeHeartbeat(app.getCurrentAppAttempt().getAppAttemptId(), 1, ContainerState.COMPLETE);
    rm.waitForState(app.getApplicationId(), RMAppState.FINISHED);
    rm.drainEvents();
    assertEquals("[0, 0, 0] [0, 0, 0]", metrics("default"));
    assertEquals("[0, 0, 0] [0, 0, 0]", metrics("other"));
  }

  private LoomcardAttempt attempt() {
    return scheduler.getApplicationAttempt(am.getApplicationAttemptId());
  }

  @Test
  public void onANodeWithALabel() throws Exception {
    start();
    Container container = runOne(gpu);
    assertEquals("[1024, 0, 1] [3072, 0, 1]", metrics("default"));
    resize(container, ContainerUpdateType.DECREASE_RESOURCE, 1024);
    assertEquals("[1024, 0, 1] [1024, 0, 1]", metrics("default"));
    report(gpu, container, ContainerState.COMPLETE);
    assertEquals("[1024, 0, 1] [0, 0, 0]", metrics("default"));
    end();
  }

  /**
   * The containers of a node that changes its label move with it; YARN leaves them with the old
   * label.
   */
  @Test
  public void onANodeThatChangesItsLabel() throws Exception {
    start();
    Container container = runOne(gpu);
    rm.getRMContext().getNodeLabelManager().replaceLabelsOnNode(Collections.singletonMap(
        NodeId.newInstance("h2", 0), Collections.<String>emptySet()));
    rm.drainEvents();
    assertEquals("[4096, 0, 2] [0, 0, 0]", metrics("default"));
    report(gpu, container, ContainerState.COMPLETE);
    assertEquals("[1024, 0, 1] [0, 0, 0]", metrics("default"));
    end();
  }

  /** An opportunistic container is charged to no queue, however often it shrinks. */
  @Test
  public void ofAnOpportunisticContainer() throws Exception {
    start();
    Container container = BuilderUtils.newContainer(ContainerId.newContainerId(
        am.getApplicationAttemptId(), 99), plain.getNodeId(), "x:1", Resource.newInstance(2048, 0),
        Priority.newInstance(3), null, ExecutionType.OPPORTUNISTIC, 0);
    attempt().setOpportunisticContainerContext(new OpportunisticContainerContext());
    RMContainer running = SchedulerUtils.createOpportunisticRmContainer(rm.getRMContext(),
        container, false);
    running.handle(new RMContainerEvent(container.getId(), RMContainerEventType.LAUNCHED));
    container = resize(container, ContainerUpdateType.DECREASE_RESOURCE, 1024);
    call();
    assertEquals(1024, container.getResource().getMemorySize());
    assertEquals("[1024, 0, 1] [0, 0, 0]", metrics("default"));
    assertEquals(2, attempt().getLiveContainers().size());
    scheduler.completedContainer(scheduler.getRMContainer(container.getId()),
        SchedulerUtils.createAbnormalContainerStatus(container.getId(), "done"),
        RMContainerEventType.FINISHED);
    rm.drainEvents();
    end();
  }

  /** Two increases that no node confirmed are taken back, and the AM learns of it later. */
  @Test
  public void ofAnApplicationThatMovesMeanwhile() throws Exception {
    start();
    List<Container> grown = Arrays.asList(runOne(plain), runOne(gpu));
    for (Container container : grown) {
      resize(container, ContainerUpdateType.INCREASE_RESOURCE, 4096);
    }
    call();
    for (Container container : grown) {
      scheduler.rollBackIncrease(container.getId());
    }
    rm.drainEvents();
    assertEquals("each with a second one", "[5120, 0, 3] [4096, 0, 2]", metrics("default"));
    scheduler.moveApplication(app.getApplicationId(), "other");
    assertEquals("[0, 0, 0] [0, 0, 0]", metrics("default"));
    assertEquals("[5120, 0, 3] [4096, 0, 2]", metrics("other"));
    call();
    call();
    assertEquals("[4096, 0, 2] [3072, 0, 1]", metrics("other"));
    end();
  }

  /**
   * The next AM does not know of the change, so it is cancelled, and its container is kept once.
   */
  @Test
  public void ofAKeptContainer() throws Exception {
    start();
    Container container = runOne(plain);
    resize(container, ContainerUpdateType.INCREASE_RESOURCE, 4096);
    call();
    scheduler.rollBackIncrease(container.getId());
    rm.drainEvents();
    assertEquals("[5120, 0, 3] [0, 0, 0]", metrics("default"));
    plain.nodeHeartbeat(am.getApplicationAttemptId(), 1, ContainerState.COMPLETE);
    rm.drainEvents();
    until("another attempt", () -> !app.getCurrentAppAttempt().getAppAttemptId()
        .equals(am.getApplicationAttemptId()));
    am = launchAm(app, plain);
    assertEquals("[5120, 0, 2] [0, 0, 0]", metrics("default"));
    assertEquals(1, scheduler.getTransferredContainers(am.getApplicationAttemptId()).size());
    report(plain, container, ContainerState.COMPLETE);
    end();
  }
}
