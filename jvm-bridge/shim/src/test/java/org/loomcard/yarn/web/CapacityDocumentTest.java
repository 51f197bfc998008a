package org.loomcard.yarn.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
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

  private static JsonObject byPartition(JsonObject queue, String kind, String list, int index) {
    return queue.getAsJsonObject(kind).getAsJsonArray(list).get(index).getAsJsonObject();
  }

  private static long memory(JsonObject owner, String key) {
    return owner.getAsJsonObject(key).get("memory").getAsLong();
  }

  /** Of 4096 MB that are asked for, 1024 MB are asked with the label gpu. */
  @Test
  public void pendingIsOfThePartition() {
    JsonObject none = byPartition(leaf(), "resources", "resourceUsagesByPartition", 0);
    JsonObject gpu = byPartition(leaf(), "resources", "resourceUsagesByPartition", 1);
    assertEquals(3072, memory(none, "pending"));
    assertEquals(1024, memory(gpu, "pending"));
    assertEquals(2048, memory(none, "reserved"));
    assertEquals(0, memory(gpu, "reserved"));
    assertEquals(3, leaf().get("pendingContainers").getAsInt());
    assertEquals(1, leaf().get("reservedContainers").getAsInt());
  }

  /** The root queue has all of each partition; another one's shares are of the partition. */
  @Test
  public void effectiveAmountsAreOfThePartition() {
    JsonObject none = byPartition(root(), "capacities", "queueCapacitiesByPartition", 0);
    JsonObject gpu = byPartition(root(), "capacities", "queueCapacitiesByPartition", 1);
    assertEquals(20480, memory(none, "effectiveMinResource"));
    assertEquals(4096, memory(gpu, "effectiveMinResource"));
    assertEquals(4096, memory(gpu, "effectiveMaxResource"));
    assertEquals(100, gpu.get("absoluteCapacity").getAsDouble(), EXACT);
    none = byPartition(leaf(), "capacities", "queueCapacitiesByPartition", 0);
    gpu = byPartition(leaf(), "capacities", "queueCapacitiesByPartition", 1);
    assertEquals("half of the nodes without a label", 10240, memory(none, "effectiveMinResource"));
    assertEquals(20480, memory(none, "effectiveMaxResource"));
    assertEquals(1024, memory(gpu, "effectiveMinResource"));
    assertEquals(2048, memory(gpu, "effectiveMaxResource"));
    assertEquals(10240, memory(leaf(), "minEffectiveCapacity"));
  }

  /** The options of the policy that governs a queue from further up are those of the queue. */
  @Test
  public void optionsComeFromTheGoverningPolicy() {
    String options = "\"options\":{\"user_limit_factor\":2.0,\"preempt_after_ms\":1000,"
        + "\"levels\":{\"root.a\":{\"minimum_user_limit_percent\":25}}}";
    JsonArray specs = new JsonParser().parse(SampleStatus.GOVERNING.policyConfig.json
        .replace("\"options\":{},", options + ",").replace("\"drf\"", "\"capacity\"")
        .replace("\"fifo\"", "null")).getAsJsonObject().getAsJsonArray("queues");
    JsonObject leaf = CapacityDocument.of(new SampleStatus(), specs).getAsJsonObject("queues")
        .getAsJsonArray("queue").get(0).getAsJsonObject();
    assertEquals(2, leaf.get("userLimitFactor").getAsDouble(), EXACT);
    assertEquals(25, leaf.get("userLimit").getAsDouble(), EXACT);
    assertEquals(false, leaf.get("preemptionDisabled").getAsBoolean());
    assertEquals(true, leaf.get("intraQueuePreemptionDisabled").getAsBoolean());
    assertEquals("half is guaranteed, all may be used", 2,
        leaf().get("userLimitFactor").getAsDouble(), EXACT);
    assertEquals(true, leaf().get("preemptionDisabled").getAsBoolean());
  }

  @Test
  public void leafListsItsUsersListsAndLimits() {
    JsonObject leaf = leaf();
    JsonObject alice = leaf.getAsJsonObject("users").getAsJsonArray("user").get(0)
        .getAsJsonObject();
    assertEquals("alice", alice.get("username").getAsString());
    assertEquals(1024, memory(alice, "AMResourceUsed"));
    assertEquals(1, leaf.get("numActiveApplications").getAsInt());
    assertEquals(1, leaf.get("numPendingApplications").getAsInt());
    assertEquals(20, leaf.get("maxApplications").getAsInt());
    assertEquals(3600, leaf.get("maxApplicationLifetime").getAsInt());
    assertEquals("DRAINING", leaf.get("state").getAsString());
    assertTrue(leaf.get("queueAcls").toString(), leaf.get("queueAcls").toString().contains(
        "{\"accessType\":\"SUBMIT_APP\",\"accessControlList\":\"alice data\"}"));
  }
}
