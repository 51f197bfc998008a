package org.loomcard.yarn.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Collections;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.junit.After;
import org.junit.AfterClass;
import org.junit.Before;
import org.junit.BeforeClass;
import org.junit.Test;
import org.loomcard.yarn.status.ExplanationStatus;

/** The reasons of asks over HTTP, in the shape of CapacityScheduler's activities. */
public final class ActivitiesTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CLUSTER = "/ws/v1/cluster/scheduler/activities";
  private static final String APP = "/ws/v1/cluster/scheduler/app-activities/";
  private static final String ASK = "{\"application\":\"a1\",\"app_priority\":3,"
      + "\"queue\":\"root.a\",\"allocation_request_id\":-1,";
  private static final String FULL = ASK + "\"priority\":20,\"label\":\"\",\"code\":\"NODE_FULL\","
      + "\"text\":\"no room\",\"binding\":[{\"code\":\"NODE_FULL\",\"where\":\"n1:45454\","
      + "\"node\":\"n1:45454\",\"text\":\"n1 is full\"}]}";
  private static final String MAX = ASK + "\"priority\":21,\"label\":\"gpu\","
      + "\"code\":\"QUEUE_MAX\",\"text\":\"too much\",\"binding\":[{\"code\":\"QUEUE_MAX\","
      + "\"where\":\"root.a\",\"node\":null,\"text\":\"at its maximum\"}]}";
  private static final String RULE = ASK + "\"priority\":22,\"label\":\"\",\"code\":\"SHARE\","
      + "\"text\":\"its share\",\"binding\":[]}";
  private static RunningRm manager;

  @BeforeClass
  public static void start() throws Exception {
    manager = RunningRm.start(IdleScheduler.class, new YarnConfiguration());
  }

  @AfterClass
  public static void stop() {
    manager.stop();
  }

  @Before
  public void explain() {
    say("root", "{\"further_asks\":0,\"asks\":[" + FULL + "," + MAX + "," + RULE + "]}");
    say("a1", "{\"further_asks\":0,\"queue\":\"root.a\",\"app_priority\":3,\"asks\":["
        + FULL + "," + MAX + "," + RULE + "]}");
    say("idle", "{\"further_asks\":0,\"queue\":\"root.a\",\"app_priority\":0,\"asks\":[]}");
    say("over", "null");
  }

  private static void say(String name, String document) {
    IdleScheduler.STATUS.explanations.put("asks " + name, new ExplanationStatus(document,
        "FINISHED", "", Collections.<String>emptyList()));
  }

  @After
  public void forget() {
    IdleScheduler.STATUS.explanations.clear();
  }

  private static JsonNode get(String path) throws Exception {
    RunningRm.Answer answer = manager.get(path, "application/json");
    assertEquals(answer.body, 200, answer.status);
    JsonNode document = JSON.readTree(answer.body);
    return document.path(path.startsWith(APP) ? "appActivities" : "activities");
  }

  /** Each partition has the queues with asks for it, down to the node that lacks room. */
  @Test
  public void treeHasTheAsksOfEachPartition() throws Exception {
    JsonNode found = get(CLUSTER);
    assertTrue(found.path("timestamp").asLong() > 0);
    assertEquals(2, found.path("allocations").size());
    assertEquals("{\"partition\":\"\",\"finalAllocationState\":\"SKIPPED\",\"root\":{\"name\":"
        + "\"root\",\"allocationState\":\"SKIPPED\",\"children\":[{\"name\":\"root.a\","
        + "\"allocationState\":\"SKIPPED\",\"children\":[{\"name\":\"a1\",\"allocationState\":"
        + "\"REJECTED\",\"appPriority\":3,\"children\":[{\"name\":\"request_20_-1\","
        + "\"allocationState\":\"REJECTED\",\"requestPriority\":20,\"allocationRequestId\":-1,"
        + "\"diagnostic\":\"NODE_FULL: no room\",\"children\":[{\"allocationState\":\"REJECTED\","
        + "\"diagnostic\":\"n1 is full\",\"nodeId\":\"n1:45454\"}]},{\"name\":\"request_22_-1\","
        + "\"allocationState\":\"SKIPPED\",\"requestPriority\":22,\"allocationRequestId\":-1,"
        + "\"diagnostic\":\"SHARE: its share\"}]}]}]}}",
        found.path("allocations").path(0).toString());
    JsonNode gpu = found.path("allocations").path(1);
    assertEquals("gpu", gpu.path("partition").asText());
    JsonNode queue = gpu.path("root").path("children").path(0);
    assertEquals("REJECTED", queue.path("allocationState").asText());
    assertEquals("at its maximum", queue.path("diagnostic").asText());
  }

  /** A node is named by its host, with or without the port; its partition alone is shown. */
  @Test
  public void nodeChoosesItsPartition() throws Exception {
    say("root", "{\"further_asks\":7,\"asks\":[" + FULL + "]}");
    for (String node : new String[] {"n2", "n2:45454"}) {
      JsonNode found = get(CLUSTER + "?nodeId=" + node);
      assertEquals("n2:45454", found.path("nodeId").asText());
      assertEquals(1, found.path("allocations").size());
      JsonNode root = found.path("allocations").path(0).path("root");
      assertEquals("7 further asks are not listed", root.path("diagnostic").asText());
      assertFalse(root.has("children"));
    }
    say("root", "{\"further_asks\":0,\"asks\":[" + FULL + "]}");
    assertEquals("Queue does not need more resource", get(CLUSTER + "?nodeId=n2")
        .path("allocations").path(0).path("root").path("diagnostic").asText());
    assertEquals("Cannot find node manager with given node id",
        get(CLUSTER + "?nodeId=n3").path("diagnostic").asText());
  }

  @Test
  public void groupsByDiagnostic() throws Exception {
    JsonNode node = get(APP + "a1?groupBy=diagnostic").path("allocations").path(0).path("children")
        .path(0).path("children").path(0);
    assertEquals("{\"allocationState\":\"REJECTED\",\"diagnostic\":\"n1 is full\",\"count\":1,"
        + "\"nodeIds\":[\"n1:45454\"]}", node.toString());
    String wrong = "Got invalid groupBy: x, valid groupBy types: [DIAGNOSTIC]";
    assertEquals(wrong, get(CLUSTER + "?groupBy=x").path("diagnostic").asText());
    assertEquals(wrong, get(APP + "a1?groupBy=x").path("diagnostic").asText());
  }

  /** An application's asks, and only those that are wanted. */
  @Test
  public void applicationHasItsAsks() throws Exception {
    JsonNode found = get(APP + "a1").path("allocations").path(0);
    assertEquals("a", found.path("queueName").asText());
    assertEquals(3, found.path("appPriority").asInt());
    assertEquals("REJECTED", found.path("allocationState").asText());
    assertEquals(3, found.path("children").size());
    for (String only : new String[] {"requestPriorities=22,9", "requestPriorities=22&limit=1"}) {
      JsonNode asks = get(APP + "a1?allocationRequestIds=-1&" + only).path("allocations").path(0);
      assertEquals("SKIPPED", asks.path("allocationState").asText());
      assertEquals("SHARE: its share", asks.path("children").path(0).path("diagnostic").asText());
      assertEquals(1, asks.path("children").size());
    }
    assertEquals("Application does not need more resource",
        get(APP + "idle").path("allocations").path(0).path("diagnostic").asText());
  }

  /** What is wrong is said in YARN's words, with status 200, as its clients expect. */
  @Test
  public void applicationSaysWhatIsWrong() throws Exception {
    assertEquals("Cannot find application with given appId",
        get(APP + "xyz").path("diagnostic").asText());
    assertEquals("The scheduler has no such application now; its state is FINISHED",
        get(APP + "over").path("diagnostic").asText());
    assertEquals("limit must be greater than 0!", get(APP + "a1?limit=0").path("diagnostic")
        .asText());
    assertEquals("limit must be integer!", get(APP + "a1?limit=q").path("diagnostic").asText());
    assertEquals("Got invalid action: x, valid actions: [REFRESH, GET]",
        get(APP + "a1?actions=x").path("diagnostic").asText());
    assertEquals("Successfully received action: refresh",
        get(APP + "a1?actions=refresh").path("diagnostic").asText());
    assertEquals(405, manager.call("PUT", APP + "a1").status);
  }

  /** Before the scheduler has its configuration, calls are told to come again. */
  @Test
  public void whileTheResourceManagerStarts() throws Exception {
    IdleScheduler.STATUS.starting = true;
    try {
      for (String path : new String[] {CLUSTER, APP + "a1", "/ws/v1/cluster/scheduler",
          "/ws/v1/cluster/scheduler-conf", "/ws/v1/cluster/loomcard/policy"}) {
        RunningRm.Answer answer = manager.get(path, "*/*");
        assertEquals(path, 503, answer.status);
        assertTrue(answer.body, answer.body.contains("still starting"));
      }
      assertEquals(200, manager.get("/cluster/scheduler", "text/html").status);
    } finally {
      IdleScheduler.STATUS.starting = false;
    }
  }
}
