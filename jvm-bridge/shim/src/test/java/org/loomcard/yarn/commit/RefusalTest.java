package org.loomcard.yarn.commit;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.junit.Test;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;
import org.loomcard.yarn.rounds.CommitReport;
import org.loomcard.yarn.wire.PlanMessage;

/**
 * Each decision is checked against the scheduler's present state; an invalid one is refused with
 * its reason.
 */
public class RefusalTest extends SchedulerTestBase {
  private MockNM near;
  private MockNM far;
  private RMApp app;
  private MockAM am;

  private void start() throws Exception {
    startRm();
    near = node("h1", 8192, 8);
    far = node("h2", 8192, 8);
    app = submit(application());
    am = launchAm(app, near);
    read();
  }

  private String reasonOf(CommitReport report) {
    assertEquals(1, report.refused);
    return read().one("outcomes").get(5).get(0).get(2).asText();
  }

  private JsonNode askRows(ResourceRequest... rows) throws Exception {
    am.allocate(Arrays.asList(rows), new ArrayList<ContainerId>());
    rm.drainEvents();
    return read().one("ask");
  }

  private ResourceRequest row(String name, int count, boolean relax) throws Exception {
    ResourceRequest row = am.createResourceReq(name, 1024, 7, count, null);
    row.setRelaxLocality(relax);
    return row;
  }

  /**
   * A plan can be older than the scheduler's state: the ask is served already, the node is full or
   * gone, the plan is late.
   */
  @Test
  public void plansOlderThanTheState() throws Exception {
    start();
    JsonNode ask = ask(am, 1024, 5, 2);
    PlanMessage.Allocate both = ScriptedRounds.allocate(ask, node(near), 2);
    assertEquals(2, rounds.commit(both).allocated);
    assertEquals("[2,1,3,0,[13312,16]]", read().check.toString());
    assertEquals("the same decision again allocates nothing", 0, rounds.commit(both).allocated);
    assertEquals("ASK_GONE", read().one("outcomes").get(5).get(0).get(2).asText());

    ask = ask(am, 4096, 5, 3);
    CommitReport report = rounds.commit(ScriptedRounds.allocate(ask, node(near), 3));
    assertEquals("allocated 1, preempted 0, refused 2", report.toString());
    ScriptedRounds.Batch batch = read();
    assertEquals("[[0,2,\"NODE_FULL\"]]", batch.one("outcomes").get(5).toString());
    assertEquals("the ask is reported as it stands", 2, batch.one("ask").get(7).asInt());
    assertEquals("[2,1,4,2,[9216,16]]", batch.check.toString());

    PlanMessage.Allocate one = ScriptedRounds.allocate(ask, node(far), 1);
    assertEquals(0, rounds.commitLate(one).allocated);
    assertEquals("LATE", read().one("outcomes").get(5).get(0).get(2).asText());

    assertEquals("INVALID", reasonOf(rounds.commit(new PlanMessage.Allocate(99, 5, 0, 1, 1, 0))));
    assertEquals("INVALID", reasonOf(rounds.commit(new PlanMessage.Allocate(1, 5, 0, 99, 1, 0))));
    assertEquals("INVALID", reasonOf(rounds.commit(new PlanMessage.Allocate(1, 5, 0, 1, 0, 0))));
    assertEquals("ASK_GONE", reasonOf(rounds.commit(new PlanMessage.Allocate(1, 6, 0, 1, 1, 0))));
    assertEquals("INVALID", reasonOf(rounds.commit(new PlanMessage.Preempt(999, 0, "x", 0))));

    far.nodeHeartbeat(false);
    rm.drainEvents();
    assertEquals("NODE_GONE", reasonOf(rounds.commit(one)));
    rm.killApp(app.getApplicationId());
    rm.drainEvents();
    assertEquals("ATTEMPT_GONE", reasonOf(rounds.commit(ScriptedRounds.allocate(ask, node(near),
        1))));
    assertEquals(Long.valueOf(4), scheduler.metrics().refused().get("INVALID"));
  }

  /**
   * An ask tied to a host goes nowhere else, unless it relaxes its locality. Rows are counted down
   * here as in the mirror, so they are not sent to it again.
   */
  @Test
  public void localityAndBlacklist() throws Exception {
    start();
    JsonNode ask = askRows(row("h1", 2, true), row("/default-rack", 2, false), row("*", 2, false));
    assertEquals("{\"h1\":2}", ask.get(8).toString());
    assertEquals("{\"/default-rack\":2}", ask.get(9).toString());
    assertEquals("[\"/default-rack\"]", ask.get(12).toString());
    assertFalse(ask.get(10).asBoolean());
    assertEquals("LOCALITY", reasonOf(rounds.commit(ScriptedRounds.allocate(ask, node(far), 1))));
    assertEquals(1, rounds.commit(ScriptedRounds.allocate(ask, node(near), 1)).allocated);
    assertTrue(read().all("ask").isEmpty());
    assertEquals("{\"h1\":1}", rounds.snapshot().one("ask").get(8).toString());

    ask = askRows(row("h1", 1, true), row("/default-rack", 1, true), row("*", 1, false));
    assertEquals("{\"/default-rack\":1}", ask.get(9).toString());
    assertEquals("rack-local", 1, rounds.commit(ScriptedRounds.allocate(ask, node(far),
        1)).allocated);
    read();

    am.allocate(new ArrayList<ResourceRequest>(), new ArrayList<ContainerId>());
    ask = askRows(row("h1", 1, true), row("/default-rack", 1, true), row("*", 1, true));
    rm.getResourceScheduler().allocate(am.getApplicationAttemptId(), Collections.emptyList(), null,
        Collections.emptyList(), Collections.singletonList("h1"), null,
        new org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates());
    assertTrue(rounds.hasPendingEvents());
    assertEquals("[\"h1\"]", read().one("blacklist").get(3).toString());
    assertEquals("BLACKLISTED", reasonOf(rounds.commit(ScriptedRounds.allocate(ask, node(near),
        1))));
    assertEquals(1, rounds.commit(ScriptedRounds.allocate(ask, node(far), 1)).allocated);
  }
}
