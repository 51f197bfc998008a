package org.loomcard.yarn.queues;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.metrics2.AbstractMetric;
import org.apache.hadoop.metrics2.impl.MetricsCollectorImpl;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;
import org.loomcard.yarn.ScriptedScheduler;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.wire.PlanMessage;

/** This scheduler updates the metrics that YARN's own schedulers update. */
public class QueueMetricsTest extends SchedulerTestBase {
  private static final String DELAYS = "AppAttemptFirstContainerAllocationDelayNumOps";

  private QueueMetrics metrics(String queue) {
    return scheduler.queues().find(queue).getMetrics();
  }

  /** Returns one figure as a sink of metrics gets it. */
  private static long figure(QueueMetrics metrics, String name) {
    MetricsCollectorImpl collector = new MetricsCollectorImpl();
    metrics.getMetrics(collector, true);
    for (AbstractMetric metric : collector.getRecords().get(0).metrics()) {
      if (metric.name().equals(name)) {
        return metric.value().longValue();
      }
    }
    throw new AssertionError("no metric " + name);
  }

  /** The delay is counted once: from an attempt's first ask to the first container that it gets. */
  @Test
  public void theDelayOfTheFirstContainerIsMeasured() throws Exception {
    startRm();
    MockNM nm = node("h1", 8192, 8);
    RMApp app = submit(application());
    until("an attempt", () -> app.getCurrentAppAttempt() != null
        && app.getCurrentAppAttempt().getAppAttemptState() == RMAppAttemptState.SCHEDULED);
    awaitAnotherMillisecond();
    long before = figure(metrics("root.default"), DELAYS);
    MockAM am = launchAm(app, nm);
    assertEquals(before + 1, figure(metrics("root.default"), DELAYS));
    read();
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 1), node(nm), 1));
    assertEquals(1, collect(am).size());
    assertEquals("the first one only", before + 1, figure(metrics("root.default"), DELAYS));
  }

  private static void awaitAnotherMillisecond() throws InterruptedException {
    long end = System.nanoTime() + 5_000_000;
    until("time has passed", () -> System.nanoTime() > end);
  }

  /** Where it is wanted, each user has metrics in each queue and, for labels, in each partition. */
  @Test
  public void usersHaveMetricsOfTheirOwn() throws Exception {
    QueueMetrics.clearQueueMetrics(); // those of other tests, which have none by user
    conf.setBoolean(BridgeConfig.METRICS_BY_USER, true);
    try {
      startRm();
      MockNM nm = node("h1", 8192, 8);
      MockAM am = launchAm(submit(application().withUser("alice")), nm);
      launchAm(submit(application().withUser("bob")), nm);
      read();
      rounds.commit(ScriptedRounds.allocate(ask(am, 2048, 5, 2), node(nm), 1));
      assertEquals(1, collect(am).size());
      for (String queue : new String[] {"root", "root.default"}) {
        QueueMetrics alice = metrics(queue).getUserMetrics("alice");
        assertEquals("1024 MB of the AM", 1024 + 2048, alice.getAllocatedMB());
        assertEquals(2048, alice.getPendingMB());
        assertEquals(1, alice.getAppsRunning());
        assertEquals(1024, metrics(queue).getUserMetrics("bob").getAllocatedMB());
        assertEquals(1024, metrics(queue).getPartitionQueueMetrics("").getUserMetrics("bob")
            .getAllocatedMB());
      }
      assertEquals("the headroom that the AM was told", 8192 - 2048 - 2048,
          metrics("root.default").getUserMetrics("alice").getAvailableMB());
    } finally {
      QueueMetrics.clearQueueMetrics();
    }
  }

  /** A container that was taken back is counted with its size, in its queue and in those above. */
  @Test
  public void preemptedContainersAreCounted() throws Exception {
    startRm();
    MockNM nm = node("h1", 8192, 8);
    RMApp app = submit(application());
    MockAM am = launchAm(app, nm);
    read();
    long[] before = preempted("root.default");
    long seconds = figure(metrics("root"), "AggregateMemoryMBSecondsPreempted");
    long[] above = preempted("root");
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 2), node(nm), 2));
    collect(am);
    long number = read().one("outcomes").get(3).asLong();
    awaitAnotherMillisecond();
    rounds.commit(new PlanMessage.Preempt(number, 0, "fairness", 0));
    rm.drainEvents();
    assertEquals(Arrays.toString(new long[] {before[0] + 1, before[1] + 1024}),
        Arrays.toString(preempted("root.default")));
    assertEquals(above[0] + 1, preempted("root")[0]);
    assertTrue(figure(metrics("root"), "AggregateMemoryMBSecondsPreempted") > seconds);
  }

  private long[] preempted(String queue) {
    QueueMetrics metrics = metrics(queue);
    return new long[] {metrics.getAggregatePreemptedContainers(),
        figure(metrics, "AggregateMemoryMBPreempted")};
  }

  /** A container that its AM gives back is not counted as taken. */
  @Test
  public void releasedContainersAreNotPreempted() throws Exception {
    startRm();
    MockNM nm = node("h1", 8192, 8);
    RMApp app = submit(application());
    MockAM am = launchAm(app, nm);
    read();
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 1), node(nm), 1));
    Container container = collect(am).get(0);
    long[] before = preempted("root");
    am.allocate(Collections.emptyList(), Collections.singletonList(container.getId()));
    nm.nodeHeartbeat(app.getCurrentAppAttempt().getAppAttemptId(), 1, ContainerState.RUNNING);
    rm.drainEvents();
    assertEquals(Arrays.toString(before), Arrays.toString(preempted("root")));
  }

  /** What a queue does not use of its part is shown by node label, like what is allocated. */
  @Test
  public void whatIsLeftIsShownByLabel() throws Exception {
    ScriptedScheduler.policyConfig = new ConfigText().queue("root", -1, false, "")
        .queue("root.a", 0, true, "\"guaranteed\":{\"ppm\":750000},"
            + "\"label_guaranteed_ppm\":{\"gpu\":500000}")
        .queue("root.b", 0, true, "\"guaranteed\":{\"ppm\":250000},\"labels\":[]").text();
    startRm();
    MockNM plain = node("h1", 8192, 8);
    MockNM gpu = node("h2", 4096, 4);
    Map<NodeId, Set<String>> labels = new HashMap<>();
    labels.put(gpu.getNodeId(), new HashSet<>(Collections.singletonList("gpu")));
    scheduler.handle(new NodeLabelsUpdateSchedulerEvent(labels));
    scheduler.queues().settle();
    assertEquals(8192, metrics("root").getAvailableMB());
    assertEquals(4096, metrics("root").getPartitionQueueMetrics("gpu").getAvailableMB());
    assertEquals(2048, metrics("root.a").getPartitionQueueMetrics("gpu").getAvailableMB());
    assertEquals(0, metrics("root.b").getPartitionQueueMetrics("gpu").getAvailableMB());
    assertEquals(6144, metrics("root.a").getAvailableMB());
    assertEquals(2048, metrics("root.b").getAvailableMB());
    launchAm(submit(application().withQueue("a")), plain);
    until("the metrics follow", () -> {
      try {
        plain.nodeHeartbeat(true);
        rm.drainEvents();
      } catch (Exception e) {
        throw new AssertionError(e);
      }
      return metrics("root").getAvailableMB() == 8192 - 1024;
    });
    assertEquals(4096, metrics("root").getPartitionQueueMetrics("gpu").getAvailableMB());
    assertEquals(1024, metrics("root").getAllocatedMB());
    assertEquals(6144 - 1024, metrics("root.a").getAvailableMB());
    assertEquals(2048, metrics("root.b").getAvailableMB());
  }

  /** Where no queue of a level states a guarantee, weights divide what is above. */
  @Test
  public void weightsDivideWhatIsLeft() throws Exception {
    ScriptedScheduler.policyConfig = new ConfigText().queue("root", -1, false, "")
        .queue("root.a", 0, true, "\"weight\":3").queue("root.b", 0, true, "").text();
    startRm();
    node("h1", 8192, 8);
    scheduler.queues().settle();
    assertEquals(6144, metrics("root.a").getAvailableMB());
    assertEquals(2048, metrics("root.b").getAvailableMB());
  }

  /** The time of a node's last heartbeat is known, and the number of its heartbeats. */
  @Test
  public void heartbeatsOfNodesAreCounted() throws Exception {
    startRm();
    assertEquals(-1, scheduler.metrics().sinceNodeUpdateMs());
    assertEquals(0, scheduler.getLastNodeUpdateTime());
    MockNM nm = node("h1", 8192, 8);
    long before = scheduler.metrics().nodeUpdates();
    nm.nodeHeartbeat(true);
    rm.drainEvents();
    assertEquals(before + 1, scheduler.metrics().nodeUpdates());
    assertTrue(scheduler.getLastNodeUpdateTime() > 0);
    assertTrue(scheduler.metrics().sinceNodeUpdateMs() >= 0);
  }
}
