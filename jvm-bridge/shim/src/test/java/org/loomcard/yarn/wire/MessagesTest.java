package org.loomcard.yarn.wire;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.util.Arrays;
import java.util.Collections;
import org.apache.hadoop.conf.Configuration;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.bridge.CompileReply;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.config.QueueSpec;
import org.loomcard.yarn.json.MessageException;

/** Every message of docs/reference/wire.md against the golden files that Python reads too. */
public class MessagesTest {

  /** What Java writes for each record is equal to the golden batch, byte for byte. */
  @Test
  public void writesTheGoldenBatch() throws Exception {
    BatchWriter out = new BatchWriter(7, 4242, 29);
    out.outcomes(10, 6, 41, new long[] {2, 3},
        Arrays.asList(new Refusal(1, 2, "NODE_FULL"), new Refusal(3, 1, "USER_LIMIT")));
    out.snapshot(11, "start");
    out.config(11, 2, Golden.policyConfig());
    out.saved(11, Collections.singletonMap("root.a:dress", "{\"delta\":0.25}"));
    out.nodeAdded(12, 1, "n1:45454", "/rack1", new long[] {20480, 20, 4}, "", "n1", false);
    out.nodeRemoved(13, 2, "lost");
    out.nodeResized(14, 1, new long[] {10240, 10, 4});
    out.nodeRelabelled(14, 1, "ssd", true);
    out.nodeHeartbeat(15, 1);
    out.applicationAdded(16, 1, new ApplicationRecord("application_1763769600000_0001", 1, "alice",
        "word \"count\" \\ \u00e9\t\u0001\u007f \ud834\udd1e", "MAPREDUCE",
        Arrays.asList("small", "nightly"), 0, 15, Collections.singletonMap("LOOMCARD_DAG", "{}")));
    out.applicationChanged(17, 1, 1, 5);
    out.applicationRemoved(18, 1, "FINISHED");
    out.attemptAdded(19, 1, 1, 1, false);
    out.attemptRegistered(20, 1);
    out.attemptRemoved(21, 1, "FAILED");
    out.ask(22, new AskRecord(1, 20, -1, false, new long[] {1024, 1, 0}, 3, new AskRecord.Rows()
        .host("n2", 1).host("n1", 2).rack("/rack1", 2, true).rack("/rack2", 1, false), true, ""));
    out.blacklist(23, 1, Arrays.asList("/rack2", "n9"));
    out.containerAdded(24, new ContainerRecord(40, 1, 1, 1, new long[] {1024, 1, 0}, 0, -1, true,
        "recovered", new ContainerRecord.Times(-7, 24L, null), "gpu"));
    out.containerStarted(25, 41);
    out.containerResized(26, 41, new long[] {2048, 1, 0});
    out.containerCompleted(27, 41, "completed", -1000, 25L, 26);
    out.timer(28, 1);
    out.reservations(29, Arrays.asList(new ReservationRecord(1, 20, -1, 1, 9000L, 20, 29),
        new ReservationRecord(2, 21, 5, 2, null, 21, 29)));
    out.reportsRead(29, false);
    out.check(1, 1, 1, 3, new long[] {8192, 9, 4});
    assertEquals(Golden.message("batch"), out.finish());
    assertEquals(24, out.count());
  }

  /** The handshake's request is the golden one. */
  @Test
  public void writesTheGoldenHello() throws Exception {
    Configuration conf = new Configuration(false);
    conf.set(BridgeConfig.JOURNAL_DIR, "/var/log/loomcard");
    conf.set(BridgeConfig.POLICY_PATH, "/etc/loomcard/policies");
    Handshake handshake = new Handshake(new BridgeConfig(conf), 1763769600000L, "0.1.0", "3.4.2",
        Arrays.asList("memory_mb", "vcores", "gpu"));
    assertEquals(Golden.message("hello"), handshake.hello(false));
    assertTrue(handshake.hello(true).contains("{\"dry_run\":true,\"journal_dir\":null,"));
  }

  /** The request to compile is the golden one. */
  @Test
  public void writesTheGoldenCompile() throws Exception {
    assertEquals(Golden.message("compile"),
        CompileReply.request("version: 1\nkind: policy\npolicy: \"drf\"\n", "golden.yml"));
  }

  /** All fields of a plan are read into the right fields. */
  @Test
  public void readsTheGoldenPlan() throws Exception {
    PlanMessage plan = PlanReader.read(Golden.message("plan"));
    assertEquals(7, plan.round);
    PlanMessage.Allocate allocate = (PlanMessage.Allocate) plan.decisions.get(0);
    assertEquals("1 20 -1 1 2 1", allocate.attempt + " " + allocate.priority + " "
        + allocate.allocationRequestId + " " + allocate.node + " " + allocate.count + " "
        + allocate.instance);
    PlanMessage.Preempt preempt = (PlanMessage.Preempt) plan.decisions.get(1);
    assertEquals("40 15000 over its share 0", preempt.container + " " + preempt.graceMs + " "
        + preempt.reason + " " + preempt.instance);
    PlanMessage.Reserve keep = (PlanMessage.Reserve) plan.decisions.get(2);
    assertEquals("1 20 -1 1 9000 1", keep.attempt + " " + keep.priority + " "
        + keep.allocationRequestId + " " + keep.node + " " + keep.untilMs + " " + keep.instance);
    assertNull(((PlanMessage.Reserve) plan.decisions.get(3)).untilMs);
    PlanMessage.Unreserve release = (PlanMessage.Unreserve) plan.decisions.get(4);
    assertEquals("1 20 -1 1", release.attempt + " " + release.priority + " "
        + release.allocationRequestId + " " + release.instance);
    assertEquals(Long.valueOf(5029), plan.timers.get(0).atMs);
    assertNull(plan.timers.get(1).atMs);
    assertEquals("NODE_FULL", plan.waits.get(0).reason);
    assertNull(plan.waits.get(0).untilMs);
    assertEquals(Long.valueOf(65_029), plan.waits.get(1).untilMs);
    assertEquals(2, plan.queueWaits.get(0).queue);
    assertEquals("SLOTS", plan.queueWaits.get(0).reason);
    assertEquals(65_029, plan.queueWaits.get(0).untilMs);
    assertEquals("{\"delta\":0.25,\"note\":\"a \\\"b\\\" \\\\ \u00e9\"}",
        plan.reports.get("root.a"));
    assertEquals("{\"figures\":[{\"label\":\"share of small jobs\",\"name\":\"delta\","
        + "\"panel\":\"delta\",\"unit\":\"share\",\"value\":0.25}],"
        + "\"tables\":[{\"columns\":[{\"label\":\"job\",\"name\":\"id\"},"
        + "{\"label\":\"asked\",\"name\":\"asked\",\"unit\":\"containers\"}],"
        + "\"label\":\"jobs\",\"name\":\"jobs\",\"rows\":[[\"j1\",3],[\"j2\",null]]}],"
        + "\"typed\":1}", plan.reports.get("root.b"));
    assertEquals(Collections.singletonMap("root.a:dress", "{\"delta\":0.25}"), plan.saved);
    assertEquals("Traceback\n  ...\n", plan.faults.get(0).traceback);
    assertArrayEquals(new long[] {4096, 4, 0}, plan.headroom.get(0).amounts);
    assertNull(plan.resync);
    assertArrayEquals(new long[] {310, 402}, plan.cuts);
    assertEquals("nodes: counted 1, told 2", PlanReader.read(Golden.message("plan_resync")).resync);
  }

  /** A compiled policy configuration is read completely, and its text kept as it came. */
  @Test
  public void readsTheGoldenConfig() throws Exception {
    PolicyConfig policyConfig = Golden.policyConfig();
    assertEquals("[\"compiled\"," + policyConfig.json + "]", Golden.message("compiled"));
    assertTrue(policyConfig.needsHeartbeats());
    QueueSpec leaf = policyConfig.queue("root.a");
    assertEquals("1 a 0 true fifo false", leaf.index + " " + leaf.name() + " " + leaf.parent + " "
        + leaf.leaf + " " + leaf.policy + " " + leaf.walked);
    assertEquals(Long.valueOf(1024), leaf.guaranteed.amounts.get("memory_mb"));
    assertEquals(500_000, leaf.maximum.ppm);
    assertFalse(leaf.guaranteed.isShare());
    assertEquals(Arrays.asList("alice", "group:data"), leaf.submit);
    assertEquals(0.5, leaf.weight, 0);
    assertEquals("{\"wait_ms\":5000}", leaf.options);
    assertEquals(-1, policyConfig.queues.get(0).parent);
  }

  /** A state store may have what the version before compiled. */
  @Test
  public void readsKeysByTheirFormerNames() throws Exception {
    QueueSpec root = PolicyConfig.read(new ConfigText()
        .queue("root", -1, true, "\"hold_share_ppm\":5,\"hold_nodes\":3").text()).queues.get(0);
    assertEquals("5 3", root.reservationSharePpm + " " + root.reservationNodes);
  }

  /** Findings keep line and hint. */
  @Test
  public void readsTheGoldenFindings() throws Exception {
    CompileReply reply = CompileReply.read(Golden.message("findings"));
    assertEquals("3:9: policy: unknown policy drv (did you mean drf?)",
        reply.findings.get(0).toString());
    assertEquals(2, reply.findings.size());
    assertNull(reply.policyConfig);
  }

  /** A reply that is not a plan is refused, and the message says where and what. */
  @Test
  public void refusesWhatIsNoPlan() throws Exception {
    refused("hello there", "not JSON");
    refused("{}", "reply: expected an array");
    refused("[\"plan\",1", "Unexpected end-of-input");
    refused("[\"pland\",1]", "expected the tag plan, found pland");
    refused("[\"plan\",1,[[\"give\",1]],[],[],{},{},[],[],[],null,[]]",
        "tag allocate, preempt, reserve or unreserve");
    refused("[\"plan\",1,[[\"allocate\",1,20,-1,1,\"2\",1]],[],[],{},{},[],[],[],null,[]]",
        "allocate: count: expected an integer at character 33, found \"2\"");
    refused("[\"plan\",1,[[\"allocate\",9999999999,20,-1,1,2,1]],[],[],{},{},[],[],[],null,[]]",
        "allocate: attempt: expected an integer of 32 bits");
    refused("[\"plan\",1,[],[],[],{},{},[],[],[],null,[],7]",
        "plan: expected the end of the array");
    refused("[\"plan\",1,[],[],[],{},{},[],[],[],null,[]] []", "message: expected its end");
    refused(Golden.message("error"), "expected hello as the first message");
  }

  /** A process of another version is refused with the remedy. */
  @Test
  public void refusesAnotherSchema() throws Exception {
    assertTrue(Handshake.read(Golden.message("hello_reply")).contains("Python 3.11.9"));
    try {
      Handshake.read("[\"hello\",1,\"3.12\",\"9.9\",[]]");
      fail("schema 1 was taken");
    } catch (MessageException e) {
      assertTrue(e.getMessage(), e.getMessage().contains("speaks schema 1, this shim schema 4"));
    }
  }

  /**
   * A policy configuration of another schema, or with keys that this shim does not know, is
   * refused.
   */
  @Test
  public void refusesConfigsItDoesNotUnderstand() throws Exception {
    String good = Golden.policyConfig().json;
    configRefused(good.replace("\"schema\":1", "\"schema\":2"),
        "config: schema: expected 1, found 2");
    configRefused(good.replace("\"walked\"", "\"wakled\""), "queues[0]: wakled: unknown key");
    configRefused(good.replace("\"parent\":0", "\"parent\":1"), "parent that stands before it");
    configRefused("{}", "config: schema: expected 1, found 0");
  }

  private static void refused(String reply, String why) {
    try {
      PlanReader.read(reply);
      fail("taken as a plan: " + reply);
    } catch (MessageException e) {
      assertTrue(e.getMessage(), e.getMessage().contains(why));
    }
  }

  private static void configRefused(String json, String why) {
    try {
      PolicyConfig.read(json);
      fail("taken as a policy configuration: " + json);
    } catch (MessageException e) {
      assertTrue(e.getMessage(), e.getMessage().contains(why));
    }
  }
}
