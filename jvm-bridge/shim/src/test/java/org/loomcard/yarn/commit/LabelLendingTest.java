package org.loomcard.yarn.commit;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;
import org.loomcard.yarn.ScriptedScheduler;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.rounds.CommitReport;

/** A partition that is not exclusive takes asks without a label; an exclusive one never does. */
public class LabelLendingTest extends SchedulerTestBase {
  private MockNM plain;
  private MockNM gpu;
  private MockNM fpga;

  @Override
  protected void more(YarnConfiguration settings) {
    settings.setBoolean(YarnConfiguration.NODE_LABELS_ENABLED, true);
  }

  /** A plain node of 4 GB, one of gpu, which lends, and one of fpga, which does not. */
  private void start(String a) throws Exception {
    ScriptedScheduler.policyConfig = new ConfigText().queue("root", -1, false, "")
        .queue("root.a", 0, true, a).queue("root.b", 0, true, "").text();
    startRm();
    labels().addToCluserNodeLabels(Arrays.asList(NodeLabel.newInstance("gpu", false),
        NodeLabel.newInstance("fpga", true)));
    label("h2", "gpu");
    label("h3", "fpga");
    plain = node("h1", 4096, 8);
    gpu = node("h2", 4096, 8);
    fpga = node("h3", 4096, 8);
    read();
  }

  private RMNodeLabelsManager labels() {
    return rm.getRMContext().getNodeLabelManager();
  }

  private void label(String host, String name) throws Exception {
    labels().replaceLabelsOnNode(Collections.singletonMap(NodeId.newInstance(host, 0),
        name.isEmpty() ? Collections.<String>emptySet() : Collections.singleton(name)));
    rm.drainEvents();
  }

  private CommitReport allocate(JsonNode ask, MockNM nm, int count) throws Exception {
    return rounds.commit(ScriptedRounds.allocate(ask, node(nm), count));
  }

  private String refusals() throws Exception {
    return read().one("outcomes").get(5).toString();
  }

  private JsonNode ask(MockAM am, String label, int priority) throws Exception {
    ResourceRequest row = am.createResourceReq("*", 1024, priority, 4, label);
    am.allocate(new ArrayList<>(Collections.singletonList(row)), new ArrayList<ContainerId>());
    rm.drainEvents();
    return read().one("ask");
  }

  /** Each node is reported with whether it lends, and again when its label changes. */
  @Test
  public void whichNodesLendIsReported() throws Exception {
    start("");
    assertFalse(node(plain).get(8).asBoolean());
    assertTrue(node(gpu).get(8).asBoolean());
    assertFalse(node(fpga).get(8).asBoolean());
    label("h3", "gpu");
    JsonNode reported = read().one("node_relabelled");
    assertEquals("gpu", reported.get(3).asText());
    assertTrue(reported.get(4).asBoolean());
    label("h2", "");
    assertFalse(read().one("node_relabelled").get(4).asBoolean());
    List<Boolean> lends = rounds.snapshot().all("node_added").stream()
        .map(added -> added.get(8).asBoolean()).collect(Collectors.toList());
    assertEquals(Arrays.asList(false, false, true), lends);
  }

  /** A node whose label changed after it registered can still be lost, and come back. */
  @Test
  public void aRelabelledNodeCanBeLost() throws Exception {
    start("");
    label("h1", "gpu");
    label("h2", "");
    for (MockNM nm : Arrays.asList(plain, gpu)) {
      rm.sendNodeLost(nm);
      rm.drainEvents();
    }
    assertEquals(1, scheduler.getNumClusterNodes());
    assertEquals(4096, scheduler.getClusterResource().getMemorySize());
    read();
    node("h1", 4096, 8);
    assertTrue(read().one("node_added").get(8).asBoolean());
  }

  /** The commit accepts lent containers up to the queue's maximum on the label. */
  @Test
  public void whatIsLentIsAllocated() throws Exception {
    start("\"labels\":[],\"label_maximum_ppm\":{\"gpu\":250000}");
    MockAM am = launchAm(submit(application().withQueue("a")), plain);
    JsonNode ask = ask(am, "", 7);
    assertEquals("1 GB of 4 GB", 1, allocate(ask, gpu, 2).allocated);
    assertEquals("[[0,1,\"QUEUE_MAX\"]]", refusals());
    assertEquals(1024, scheduler.queues().find("a").usedOn("gpu")[0]);
    assertEquals(0, allocate(ask, fpga, 1).allocated);
    assertEquals("[[0,1,\"LABEL\"]]", refusals());
  }

  /** Every view shows how much of a label's nodes is lent, also when a node changes its label. */
  @Test
  public void whatIsLentIsShown() throws Exception {
    start("");
    MockAM am = launchAm(submit(application().withQueue("a")), plain);
    assertEquals(1, allocate(ask(am, "gpu", 7), gpu, 1).allocated);
    assertEquals(2, allocate(ask(am, "", 8), gpu, 2).allocated);
    LoomcardQueue a = scheduler.queues().find("a");
    assertEquals("[3072, 2048]", held(a));
    assertEquals("[3072, 2048]", held(scheduler.queues().root()));
    label("h2", "");
    assertEquals("[0, 0]", held(a));
    assertEquals("nothing is lent without a label", 0, a.lentOn("")[0]);
    label("h2", "gpu");
    assertEquals("[3072, 2048]", held(a));
    am.allocate(new ArrayList<ResourceRequest>(), Collections.singletonList(
        collect(am).get(0).getId()));
    rm.drainEvents();
    assertEquals("[2048, 1024]", held(a));
  }

  /** Returns the memory that is used on the nodes of gpu, and how much of it is lent. */
  private static String held(LoomcardQueue queue) {
    return Arrays.asList(queue.usedOn("gpu")[0], queue.lentOn("gpu")[0]).toString();
  }

  /** An ask with a label goes only to that label's nodes, whichever nodes lend. */
  @Test
  public void aLabelIsNotLentToAnother() throws Exception {
    start("");
    MockAM am = launchAm(submit(application().withQueue("a")), plain);
    JsonNode ask = ask(am, "fpga", 7);
    assertEquals(0, allocate(ask, gpu, 1).allocated);
    assertEquals("[[0,1,\"LABEL\"]]", refusals());
    assertEquals(1, allocate(ask, fpga, 1).allocated);
  }

  /** The fallback fills first the nodes without a label, then those that lend, and no others. */
  @Test
  public void theFallbackLends() throws Exception {
    start("");
    MockAM am = launchAm(submit(application().withQueue("a")), plain);
    am.allocate("*", 1024, 20, 7, new ArrayList<ContainerId>(), null);
    rm.drainEvents();
    ReentrantLock lock = new ReentrantLock();
    AtomicLong clock = new AtomicLong();
    FifoFallback fallback = new FifoFallback(scheduler.cluster(),
        new PlanCommitter(scheduler.cluster(), lock, null, scheduler.metrics()),
        Resource.newInstance(1024, 0), lock, () -> clock.addAndGet(1000));
    assertEquals("3 GB and 4 GB", 7, fallback.round());
    List<String> hosts = collect(am).stream().map(c -> c.getNodeId().getHost())
        .collect(Collectors.toList());
    assertEquals(Arrays.asList("h1", "h1", "h1", "h2", "h2", "h2", "h2"), hosts);
    assertEquals(0, fallback.round());
  }
}
