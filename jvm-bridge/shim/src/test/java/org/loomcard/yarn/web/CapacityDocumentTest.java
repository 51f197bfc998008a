package org.loomcard.yarn.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.gson.JsonObject;
import org.junit.Test;

/** The queues as clients of CapacityScheduler read them. */
public final class CapacityDocumentTest {
  private static final double EXACT = 1e-9;

  private static JsonObject root() {
    return SchedulerDocument.enveloped(new SampleStatus(), 1).getAsJsonObject("scheduler")
        .getAsJsonObject("schedulerInfo");
  }

  @Test
  public void configurationIsPropertiesOfCapacityScheduler() {
    String conf = SchedulerDocument.conf(new SampleStatus()).toString();
    assertTrue(conf, conf.contains(
        "{\"name\":\"yarn.scheduler.capacity.root.queues\",\"value\":\"a\"}"));
    assertTrue(conf, conf.contains(
        "{\"name\":\"yarn.scheduler.capacity.root.a.capacity\",\"value\":\"50.0\"}"));
    assertTrue(conf, conf.contains(
        "{\"name\":\"yarn.scheduler.capacity.root.a.state\",\"value\":\"STOPPED\"}"));
  }

  private static JsonObject leaf() {
    return root().getAsJsonObject("queues").getAsJsonArray("queue").get(0).getAsJsonObject();
  }

  @Test
  public void capacitiesArePercentOfTheParentAndOfTheCluster() {
    assertEquals("capacityScheduler", root().get("type").getAsString());
    assertEquals("root", root().get("queueName").getAsString());
    assertEquals("loomcard", root().getAsJsonObject("loomcard").get("type").getAsString());
    JsonObject leaf = leaf();
    assertEquals("capacitySchedulerLeafQueueInfo", leaf.get("type").getAsString());
    assertEquals("a", leaf.get("queueName").getAsString());
    assertEquals(50, leaf.get("capacity").getAsDouble(), EXACT);
    assertEquals(50, leaf.get("absoluteCapacity").getAsDouble(), EXACT);
    assertEquals(100, leaf.get("absoluteMaxCapacity").getAsDouble(), EXACT);
  }

  /** On nodes without a label 5632 MB of 20480 MB are used: what gpu has counts on its own. */
  @Test
  public void useIsOfThePartition() {
    JsonObject leaf = leaf();
    assertEquals(27.5, leaf.get("absoluteUsedCapacity").getAsDouble(), EXACT);
    assertEquals(55, leaf.get("usedCapacity").getAsDouble(), EXACT);
    assertEquals(5632, leaf.getAsJsonObject("resourcesUsed").get("memory").getAsLong());
    JsonObject gpu = leaf.getAsJsonObject("capacities").getAsJsonArray("queueCapacitiesByPartition")
        .get(1).getAsJsonObject();
    assertEquals("gpu", gpu.get("partitionName").getAsString());
    assertEquals(25, gpu.get("capacity").getAsDouble(), EXACT);
    assertEquals(25, gpu.get("absoluteUsedCapacity").getAsDouble(), EXACT);
    assertEquals(50, gpu.get("absoluteMaxCapacity").getAsDouble(), EXACT);
  }

  @Test
  public void leafListsItsUsersListsAndLimits() {
    JsonObject leaf = leaf();
    JsonObject alice = leaf.getAsJsonObject("users").getAsJsonArray("user").get(0)
        .getAsJsonObject();
    assertEquals("alice", alice.get("username").getAsString());
    assertEquals(1, leaf.get("numActiveApplications").getAsInt());
    assertEquals(1, leaf.get("numPendingApplications").getAsInt());
    assertEquals(20, leaf.get("maxApplications").getAsInt());
    assertEquals(3600, leaf.get("maxApplicationLifetime").getAsInt());
    assertEquals("DRAINING", leaf.get("state").getAsString());
    assertTrue(leaf.get("queueAcls").toString(), leaf.get("queueAcls").toString().contains(
        "{\"accessType\":\"SUBMIT_APP\",\"accessControlList\":\"alice data\"}"));
  }
}
