package org.loomcard.yarn.queues;

import static org.junit.Assert.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.scheduler.OpportunisticContainerContext;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;
import org.loomcard.yarn.ScriptedScheduler;

/** A queue gets back what it was charged for a container, whatever happened in between. */
public class QueueChargesTest extends SchedulerTestBase {
  private MockNM nm;
  private RMApp app;
  private MockAM am;
  /** What YARN's metrics, which outlive a test, showed for each queue before. */
  private final Map<String, long[]> before = new HashMap<>();

  private void start(String extra) throws Exception {
    ScriptedScheduler.policyConfig = new ConfigText().queue("root", -1, false, "")
        .queue("root.default", 0, true, extra).queue("root.other", 0, true, "").text();
    startRm();
    for (LoomcardQueue queue : scheduler.queues().queues()) {
      before.put(queue.path(), counted(queue));
    }
    nm = node("h1", 8192, 64);
    app = submit(application());
    am = launchAm(app, nm);
    read();
  }

  private void resize(Container container, ContainerUpdateType type, int memoryMb)
      throws Exception {
    am.sendContainerResizingRequest(Collections.singletonList(UpdateContainerRequest.newInstance(
        container.getVersion(), container.getId(), type, Resource.newInstance(memoryMb, 1),
        null)));
    rm.drainEvents();
    read();
  }

  private void call() throws Exception {
    am.allocate(new ArrayList<ResourceRequest>(), new ArrayList<ContainerId>());
    rm.drainEvents();
  }

  private Container runOne() throws Exception {
    JsonNode ask = ask(am, 1024, 5, 1);
    rounds.commit(ScriptedRounds.allocate(ask, node(nm), 1));
    Container container = collect(am).get(0);
    report(container, ContainerState.RUNNING);
    return container;
  }

  private void report(Container container, ContainerState state) throws Exception {
    nm.nodeHeartbeat(app.getCurrentAppAttempt().getAppAttemptId(),
        container.getId().getContainerId(), state);
    rm.drainEvents();
    read();
  }

  private void end() throws Exception {
    am.unregisterAppAttempt(false);
    nm.nodeHeartbeat(app.getCurrentAppAttempt().getAppAttemptId(), 1, ContainerState.COMPLETE);
    rm.waitForState(app.getApplicationId(), RMAppState.FINISHED);
    rm.drainEvents();
    nm.nodeHeartbeat(true);
    rm.drainEvents();
    read();
    assertEquals("nothing is known of it", 0, scheduler.cluster().applications().size());
    for (LoomcardQueue queue : scheduler.queues().queues()) {
      assertEquals(queue.path(), "[0, 0] [0, 0] [0, 0] 0", figures(queue));
    }
  }

  private static long[] counted(LoomcardQueue queue) {
    return new long[] {queue.getMetrics().getAllocatedMB(),
        queue.getMetrics().getAllocatedVirtualCores(), queue.getMetrics().getAllocatedContainers()};
  }

  /**
   * Returns by how much memory, vcores and containers YARN's metrics of this queue have changed.
   */
  private String metrics(String queue) {
    long[] now = counted(scheduler.queues().find(queue));
    Amounts.add(now, Amounts.negative(before.get("root." + queue)));
    return Arrays.toString(now);
  }

  private static String figures(LoomcardQueue queue) {
    return Arrays.toString(queue.used()) + " " + Arrays.toString(queue.usedBy("alice")) + " "
        + Arrays.toString(queue.usedByAms()) + " " + queue.containers();
  }

  private String figures(String queue) {
    return figures(scheduler.queues().find(queue));
  }

  /** An opportunistic container is charged to no queue, so a move neither takes nor brings it. */
  @Test
  public void moveWithAnOpportunisticContainer() throws Exception {
    start("");
    opportunistic();
    scheduler.moveApplication(app.getApplicationId(), "other");
    assertEquals("[0, 0] [0, 0] [0, 0] 0", figures("default"));
    assertEquals("[1024, 0] [1024, 0] [1024, 0] 1", figures("other"));
    end();
  }

  /** YARN's metrics of the two queues are right after such a move, then and later. */
  @Test
  public void metricsOfAMoveWithAnOpportunisticContainer() throws Exception {
    start("");
    Container guaranteed = runOne();
    Container opportunistic = opportunistic();
    assertEquals("[2048, 0, 2]", metrics("default"));
    scheduler.moveApplication(app.getApplicationId(), "other");
    assertEquals("[0, 0, 0]", metrics("default"));
    assertEquals("[2048, 0, 2]", metrics("other"));
    scheduler.completedContainer(scheduler.getRMContainer(opportunistic.getId()),
        SchedulerUtils.createAbnormalContainerStatus(opportunistic.getId(), "done"),
        RMContainerEventType.FINISHED);
    rm.drainEvents();
    assertEquals("[2048, 0, 2]", metrics("other"));
    report(guaranteed, ContainerState.COMPLETE);
    end();
    assertEquals("[0, 0, 0]", metrics("default"));
    assertEquals("[0, 0, 0]", metrics("other"));
  }

  private Container opportunistic() {
    Container container = BuilderUtils.newContainer(ContainerId.newContainerId(
        am.getApplicationAttemptId(), 99), nm.getNodeId(), "x:1", Resource.newInstance(2048, 1),
        Priority.newInstance(3), null, ExecutionType.OPPORTUNISTIC, 0);
    scheduler.getApplicationAttempt(am.getApplicationAttemptId())
        .setOpportunisticContainerContext(new OpportunisticContainerContext());
    RMContainer running = SchedulerUtils.createOpportunisticRmContainer(rm.getRMContext(),
        container, false);
    running.handle(new RMContainerEvent(container.getId(), RMContainerEventType.LAUNCHED));
    return container;
  }

  /** A promoted container is charged from its allocation on, and not after its end. */
  @Test
  public void promotionThatEndsBeforeItIsFetched() throws Exception {
    start("");
    Container container = opportunistic();
    ContainerUpdates updates = new ContainerUpdates();
    updates.getPromotionRequests().add(UpdateContainerRequest.newInstance(container.getVersion(),
        container.getId(), ContainerUpdateType.PROMOTE_EXECUTION_TYPE, null,
        ExecutionType.GUARANTEED));
    scheduler.allocate(am.getApplicationAttemptId(), new ArrayList<>(), null, new ArrayList<>(),
        null, null, updates);
    rm.drainEvents();
    read();
    assertEquals("[3072, 1] [3072, 1] [1024, 0] 2", figures("root"));
    scheduler.completedContainer(scheduler.getRMContainer(container.getId()),
        SchedulerUtils.createAbnormalContainerStatus(container.getId(), "done"),
        RMContainerEventType.FINISHED);
    rm.drainEvents();
    call();
    assertEquals("[1024, 0] [1024, 0] [1024, 0] 1", figures("root"));
    end();
  }

  /** Growth of an AM's container counts as an AM's, and is given back in the same way. */
  @Test
  public void anAmThatGrows() throws Exception {
    start("\"am_share_ppm\":500000");
    resize(app.getCurrentAppAttempt().getMasterContainer(),
        ContainerUpdateType.INCREASE_RESOURCE, 3072);
    assertEquals("[3072, 1] [3072, 1] [3072, 1] 1", figures("default"));
    call();
    assertEquals("[3072, 1] [3072, 1] [3072, 1] 1", figures("default"));
    end();
  }

  /** No AM grows beyond the AM share; other containers can. */
  @Test
  public void anAmThatWouldGrowBeyondTheShare() throws Exception {
    start("\"am_share_ppm\":250000");
    Container other = runOne();
    resize(app.getCurrentAppAttempt().getMasterContainer(),
        ContainerUpdateType.INCREASE_RESOURCE, 3072);
    assertEquals("[2048, 0] [2048, 0] [1024, 0] 2", figures("default"));
    assertEquals(1, scheduler.resizes().count());
    resize(other, ContainerUpdateType.INCREASE_RESOURCE, 3072);
    assertEquals("[4096, 1] [4096, 1] [1024, 0] 2", figures("default"));
    call();
    report(other, ContainerState.COMPLETE);
    end();
    assertEquals("with its attempt the request is gone", 0, served());
  }

  private int served() {
    read();
    return scheduler.resizes().count();
  }

  /** Repeated growth and shrinking, fetched or not, leaves nothing behind. */
  @Test
  public void manyResizes() throws Exception {
    start("");
    Container container = runOne();
    for (int i = 0; i < 40; i++) {
      resize(container, ContainerUpdateType.INCREASE_RESOURCE, 3072);
      if (i % 3 > 0) {
        call();
      }
      container = scheduler.getRMContainer(container.getId()).getContainer();
      resize(container, ContainerUpdateType.DECREASE_RESOURCE, 1024);
      container = scheduler.getRMContainer(container.getId()).getContainer();
    }
    call();
    assertEquals(2, scheduler.queues().root().containers());
    assertEquals(Arrays.toString(scheduler.queues().root().used()), 1024
        + container.getResource().getMemorySize(), scheduler.queues().root().used()[0]);
    report(container, ContainerState.COMPLETE);
    assertEquals("[1024, 0] [1024, 0] [1024, 0] 1", figures("root"));
    end();
    assertEquals("YARN's metrics too", "[0, 0, 0]", metrics("default"));
  }

  /**
   * If an application moves between the allocation of an increase and its end, the increase moves
   * too.
   */
  @Test
  public void moveWithAnIncrease() throws Exception {
    start("");
    Container container = runOne();
    resize(container, ContainerUpdateType.INCREASE_RESOURCE, 2048);
    scheduler.moveApplication(app.getApplicationId(), "other");
    assertEquals("[0, 0] [0, 0] [0, 0] 0", figures("default"));
    assertEquals("[3072, 1] [3072, 1] [1024, 0] 2", figures("other"));
    report(container, ContainerState.COMPLETE);
    assertEquals("[1024, 0] [1024, 0] [1024, 0] 1", figures("other"));
    end();
  }

  /** A request to grow is considered only while it is outstanding. */
  @Test
  public void requestsThatAreDone() throws Exception {
    start("");
    Container container = runOne();
    resize(container, ContainerUpdateType.INCREASE_RESOURCE, 8192);
    assertEquals("no room", 1, scheduler.resizes().count());
    report(container, ContainerState.COMPLETE);
    assertEquals("its container has ended", 0, served());
    end();
  }
}
