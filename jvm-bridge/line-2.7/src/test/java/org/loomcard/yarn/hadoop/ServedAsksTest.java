package org.loomcard.yarn.hadoop;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.mockito.Mockito.RETURNS_DEEP_STUBS;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ActiveUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.junit.Before;
import org.junit.Test;

/** What Hadoop 2.7 itself keeps of asks, served and dropped through the adapters. */
public final class ServedAsksTest {
  private static final Priority PRIORITY = Priority.newInstance(7);
  private static final SchedulerRequestKey KEY = new SchedulerRequestKey(PRIORITY);
  private static final Resource SIZE = Resource.newInstance(1024, 1);
  private final RMContext context = mock(RMContext.class, RETURNS_DEEP_STUBS);
  private final Queue queue = mock(Queue.class);
  private final SchedulerNode node = mock(SchedulerNode.class);
  private final QueueMetrics metrics =
      QueueMetrics.forQueue("root.asks", null, false, new Configuration(false));
  private LockedAttempt attempt;

  @Before
  public void startAnAttempt() {
    when(context.getRMApps()).thenReturn(null);
    when(queue.getMetrics()).thenReturn(metrics);
    when(node.getNodeName()).thenReturn("n1");
    when(node.getRackName()).thenReturn("/r1");
    ApplicationAttemptId id =
        ApplicationAttemptId.newInstance(ApplicationId.newInstance(1, 1), 1);
    attempt = new LockedAttempt(id, "alice", queue, new ActiveUsersManager(metrics), context) {
      @Override
      public Set<ContainerId> pullPreemptions() {
        return null;
      }

      @Override
      public void asksCameBack(List<ResourceRequest> rows) {
      }
    };
  }

  private static ResourceRequest row(String place, int count, Resource size) {
    ResourceRequest row = ResourceRequest.newInstance(PRIORITY, place, size, count);
    row.setNodeLabelExpression("gpu");
    return row;
  }

  private RMContainerImpl allocate(NodeType type) {
    ContainerId id = ContainerId.newContainerId(attempt.getApplicationAttemptId(), 2);
    Container container =
        YarnRecords.newContainer(id, NodeId.newInstance("n1", 1), "n1:2", SIZE, KEY);
    RMContainerImpl allocated = attempt.newRMContainer(container, KEY, "gpu");
    HadoopCalls.serve(attempt.getAppSchedulingInfo(), type, node, KEY, allocated);
    return allocated;
  }

  private Map<String, Integer> outstanding() {
    return HadoopCalls.rows(attempt, KEY).entrySet().stream().collect(
        Collectors.toMap(Map.Entry::getKey, row -> row.getValue().getNumContainers()));
  }

  /** A container on a named host serves the rows of host and rack too, and nothing twice. */
  @Test
  public void theRowOfThePlaceIsServed() {
    attempt.updateResourceRequests(Arrays.asList(row("*", 3, SIZE), row("/r1", 2, SIZE),
        row("n1", 2, SIZE)));
    allocate(NodeType.NODE_LOCAL);
    assertEquals(Integer.valueOf(1), outstanding().get("n1"));
    assertEquals(Integer.valueOf(1), outstanding().get("/r1"));
    assertEquals(Integer.valueOf(2), outstanding().get("*"));
    allocate(NodeType.OFF_SWITCH);
    assertEquals(Integer.valueOf(1), outstanding().get("n1"));
    assertEquals(1, attempt.getOutstandingAsksCount(KEY));
  }

  /** An AM that names another size for the host cannot make the metrics count that. */
  @Test
  public void theMetricsCountTheContainer() {
    int before = metrics.getAllocatedMB();
    attempt.updateResourceRequests(Arrays.asList(row("*", 1, SIZE), row("/r1", 1, SIZE),
        row("n1", 1, Resource.newInstance(64, 1))));
    allocate(NodeType.NODE_LOCAL);
    assertEquals(before + 1024, metrics.getAllocatedMB());
  }

  /** What a lost container served is asked for again with its label, which YARN's copies lack. */
  @Test
  public void aLostContainerIsAskedForAgain() {
    attempt.updateResourceRequests(Collections.singletonList(row("*", 1, SIZE)));
    RMContainerImpl allocated = allocate(NodeType.OFF_SWITCH);
    assertEquals(0, attempt.getSchedulerKeys().size());
    attempt.recoverResourceRequests(allocated.getResourceRequests());
    ResourceRequest again = HadoopCalls.rows(attempt, KEY).get("*");
    assertEquals(1, again.getNumContainers());
    assertEquals("gpu", again.getNodeLabelExpression());
    assertEquals(Collections.singleton(KEY), attempt.getSchedulerKeys());
  }

  /** The rows of an ask that was served in full can be dropped, and the key used again. */
  @Test
  public void aDroppedAskCanComeAgain() {
    attempt.updateResourceRequests(Arrays.asList(row("*", 1, SIZE), row("/r1", 4, SIZE)));
    allocate(NodeType.OFF_SWITCH);
    HadoopCalls.dropRows(attempt, KEY);
    assertEquals(Collections.emptyMap(), outstanding());
    assertNull(attempt.getAppSchedulingInfo().getResourceRequest(PRIORITY, "/r1"));
    attempt.updateResourceRequests(Collections.singletonList(row("*", 2, SIZE)));
    assertEquals(Collections.singletonMap("*", 2), outstanding());
  }
}
