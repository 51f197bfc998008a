package org.loomcard.yarn.state;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collections;
import org.apache.hadoop.yarn.api.records.ApplicationResourceUsageReport;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;
import org.loomcard.yarn.wire.PlanMessage;

/** Room is reserved on a node for an ask: no other ask gets it, from the policy or the fallback. */
public class ReservationsTest extends SchedulerTestBase {
  private MockNM near;
  private MockNM far;
  private RMApp app;
  private MockAM large;
  private MockAM small;
  private JsonNode ask;

  /** Node h2 has 8 GB; a task uses 1 of them; the ask is for all 8. */
  private void start() throws Exception {
    startRm();
    near = node("h1", 4096, 8);
    far = node("h2", 8192, 8);
    app = submit(application());
    large = launchAm(app, near);
    small = launchAm(submit(application()), near);
    read();
    JsonNode first = ask(small, 1024, 5, 1);
    assertEquals(1, rounds.commit(ScriptedRounds.allocate(first, node(far), 1)).allocated);
    read();
    ask = ask(large, 8192, 5, 1);
  }

  private PlanMessage.Reserve keep(JsonNode whose, MockNM where, Long untilMs) {
    return new PlanMessage.Reserve(whose.get(2).asInt(), whose.get(3).asInt(),
        whose.get(4).asLong(), node(where).get(2).asInt(), untilMs, 0);
  }

  private PlanMessage.Unreserve release(JsonNode whose) {
    return new PlanMessage.Unreserve(whose.get(2).asInt(), whose.get(3).asInt(),
        whose.get(4).asLong(), 0);
  }

  private String reasonOf(PlanMessage.Decision decision) {
    assertEquals(1, rounds.commit(decision).refused);
    return read().one("outcomes").get(5).get(0).get(2).asText();
  }

  private static String reserved(ScriptedRounds.Batch batch) {
    StringBuilder text = new StringBuilder();
    for (JsonNode reservation : batch.one("reservations").get(2)) {
      text.append(reservation.get(0)).append(" on ").append(reservation.get(3)).append(';');
    }
    return text.toString();
  }

  /** Room that is or becomes free is refused to other asks, and allocated to the ask it is for. */
  @Test
  public void reservedRoomIsForItsAskAlone() throws Exception {
    start();
    assertEquals(0, rounds.commit(keep(ask, far, null)).refused);
    ScriptedRounds.Batch batch = read();
    assertEquals(ask.get(2) + " on " + node(far).get(2) + ";", reserved(batch));
    assertTrue("reported once", read().all("reservations").isEmpty());
    JsonNode other = ask(small, 1024, 6, 2);
    assertEquals("NODE_RESERVED", reasonOf(ScriptedRounds.allocate(other, node(far), 1)));
    assertEquals("NODE_FULL", reasonOf(ScriptedRounds.allocate(ask, node(far), 1)));
    rounds.fallbackRound();
    assertEquals("on the other node", 2, collect(small).stream().filter(
        c -> c.getNodeId().getHost().equals("h1")).count());
    read();
    JsonNode more = ask(small, 1024, 8, 1);
    far.nodeHeartbeat(small.getApplicationAttemptId(), 2,
        org.apache.hadoop.yarn.api.records.ContainerState.COMPLETE);
    rm.drainEvents();
    read();
    assertEquals("NODE_RESERVED", reasonOf(ScriptedRounds.allocate(more, node(far), 1)));
    assertEquals(1, rounds.commit(ScriptedRounds.allocate(ask, node(far), 1)).allocated);
    assertEquals("", reserved(read()));
  }

  /** There is one per application and node, for what could run there, within the queue's part. */
  @Test
  public void bounds() throws Exception {
    start();
    assertEquals("NODE_FULL", reasonOf(keep(ask, near, null)));
    JsonNode second = ask(large, 2048, 6, 9);
    JsonNode other = ask(small, 2048, 6, 9);
    assertEquals(0, rounds.commit(keep(ask, far, null)).refused);
    assertEquals("NODE_RESERVED", reasonOf(keep(other, far, null)));
    assertEquals("RESERVATION_LIMIT", reasonOf(keep(second, near, null)));
    assertEquals("more than a tenth of 12 GB", "RESERVATION_LIMIT",
        reasonOf(keep(other, near, null)));
    assertEquals("INVALID", reasonOf(new PlanMessage.Reserve(1, 5, 0, 99, null, 0)));
    assertEquals("ASK_GONE", reasonOf(new PlanMessage.Reserve(1, 77, 0, 1, null, 0)));
    assertEquals("STALE", reasonOf(release(other)));
    assertEquals(0, rounds.commit(release(ask), keep(other, near, null)).refused);
    assertEquals(other.get(2) + " on " + node(near).get(2) + ";", reserved(read()));
    assertEquals("LATE", lateReason(keep(ask, far, null)));
  }

  private String lateReason(PlanMessage.Decision decision) {
    rounds.commitLate(decision);
    ScriptedRounds.Batch batch = read();
    assertFalse("the mirror took it for carried out", batch.all("reservations").isEmpty());
    return batch.one("outcomes").get(5).get(0).get(2).asText();
  }

  /**
   * A reservation ends with its ask, its size, its node, its attempt, its time and its
   * configuration.
   */
  @Test
  public void ends() throws Exception {
    start();
    keepAndRead(null);
    large.allocate("*", 8192, 0, 5, new ArrayList<ContainerId>(), null);
    assertEquals("", reserved(read()));
    ask = ask(large, 8192, 5, 1);
    keepAndRead(null);
    large.allocate(Collections.singletonList(
        large.createResourceReq("*", 4096, 5, 1, null)), new ArrayList<ContainerId>());
    assertEquals("", reserved(read()));
    large.allocate(Collections.<ResourceRequest>singletonList(
        large.createResourceReq("*", 8192, 5, 1, null)), new ArrayList<ContainerId>());
    read();
    keepAndRead(null);
    assertEquals("a snapshot brings it back", 1,
        rounds.snapshot().one("reservations").get(2).size());
    rounds.apply(ConfigText.oneQueue());
    assertTrue(rounds.snapshot().all("reservations").isEmpty());
    assertEquals(0, rounds.commit(keep(ask, far, 1L)).refused);
    assertEquals("its time is over", "", reserved(read()));
    keepAndRead(null);
    rm.killApp(app.getApplicationId());
    rm.drainEvents();
    assertEquals("", reserved(read()));
  }

  private void keepAndRead(Long untilMs) {
    assertEquals(0, rounds.commit(keep(ask, far, untilMs)).refused);
    assertEquals(1, read().one("reservations").get(2).size());
  }

  private String reserved(String queue) {
    QueueMetrics metrics = scheduler.queues().find(queue).getMetrics();
    ApplicationResourceUsageReport report =
        scheduler.getAppResourceUsageReport(large.getApplicationAttemptId());
    return metrics.getReservedMB() + " MB, " + metrics.getReservedVirtualCores() + ", "
        + metrics.getReservedContainers() + "; " + report.getReservedResources().getMemorySize()
        + " MB, " + report.getNumReservedContainers();
  }

  /** Reserved room is shown as reserved in YARN's figures, wherever the reservation moves. */
  @Test
  public void reservedRoomIsReported() throws Exception {
    start();
    String none = "0 MB, 0, 0; 0 MB, 0";
    assertEquals(none, reserved("root"));
    keepAndRead(null);
    String whole = "8192 MB, 0, 1; 8192 MB, 1";
    assertEquals(whole, reserved("root"));
    assertEquals(whole, reserved("root.default"));
    keepAndRead(100_000_000L);
    assertEquals("a reservation that is renewed counts once", whole, reserved("root"));
    assertEquals(0, rounds.commit(release(ask)).refused);
    assertEquals(none, reserved("root"));
    keepAndRead(null);
    rm.killApp(app.getApplicationId());
    rm.drainEvents();
    assertEquals(0, rounds.fallbackRound());
    QueueMetrics metrics = scheduler.queues().find("root").getMetrics();
    assertEquals("the fallback sees that it is over", 0, metrics.getReservedMB());
  }

  /** A lost node ends its reservation. */
  @Test
  public void endsWithItsNode() throws Exception {
    start();
    keepAndRead(null);
    rm.sendNodeLost(far);
    rm.drainEvents();
    assertEquals("", reserved(read()));
  }
}
