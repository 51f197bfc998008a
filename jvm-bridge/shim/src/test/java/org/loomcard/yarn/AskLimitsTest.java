package org.loomcard.yarn;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.apache.commons.lang3.reflect.FieldUtils;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.junit.Test;
import org.loomcard.yarn.config.BridgeConfig;

/**
 * An attempt that asks for more than its limits gets an error, in its AM and its diagnostics.
 * Nothing of the request is taken, and the attempt continues.
 */
public class AskLimitsTest extends SchedulerTestBase {
  private static final String BY_KEY = "loomcard.attempt.max-key-rows";
  private static final String IN_ALL = "loomcard.attempt.max-ask-rows";
  private MockNM nm;
  private RMApp app;
  private MockAM am;

  @Override
  protected void more(YarnConfiguration settings) {
    settings.setInt(BridgeConfig.MAX_ASK_KEYS, 3);
    settings.setInt(BridgeConfig.MAX_ASK_ROWS, 12_000);
  }

  private void start() throws Exception {
    startRm();
    nm = node("h1", 8192, 8);
    app = submit(application());
    am = launchAm(app, nm);
    read();
  }

  private static ResourceRequest row(String place, int id, int count) {
    ResourceRequest row = ResourceRequest.newInstance(Priority.newInstance(5), place,
        Resource.newInstance(1024, 1), count);
    row.setAllocationRequestId(id);
    return row;
  }

  /** Rows for the hosts {@code n<first>} to {@code n<end - 1>}, and none for {@code *}. */
  private static List<ResourceRequest> hosts(int first, int end, int id, int count) {
    List<ResourceRequest> rows = new ArrayList<>();
    for (int host = first; host < end; host++) {
      rows.add(row("n" + host, id, count));
    }
    return rows;
  }

  private void taken(List<ResourceRequest> rows) throws Exception {
    am.allocate(rows, new ArrayList<ContainerId>());
    rm.drainEvents();
  }

  private void refused(List<ResourceRequest> rows, String setting, String diagnosis)
      throws Exception {
    try {
      am.allocate(rows, new ArrayList<ContainerId>());
      fail("taken against " + setting);
    } catch (YarnException e) {
      assertTrue(e.getMessage(), e.getMessage().contains(setting));
    }
    String diagnostics = app.getDiagnostics().toString();
    assertTrue(diagnostics, diagnostics.contains(diagnosis));
    rm.drainEvents();
    assertTrue("nothing was asked for", read().tags().isEmpty());
  }

  @Test
  public void tooManyKeysAreRefused() throws Exception {
    start();
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 1), node(nm), 1));
    Container container = collect(am).get(0);
    read();
    List<ResourceRequest> rows = new ArrayList<>();
    for (int id = 1; id <= 4; id++) {
      rows.add(row("*", id, 1));
    }
    try {
      am.allocate(rows, Collections.singletonList(container.getId()));
      fail("four keys were taken");
    } catch (YarnException e) {
      assertTrue(e.getMessage(), e.getMessage().contains("loomcard.attempt.max-ask-keys"));
    }
    assertTrue(app.getDiagnostics().toString(),
        app.getDiagnostics().toString().contains("under 4 different pairs"));
    rm.drainEvents();
    assertTrue("nothing was asked for, nothing released", read().tags().isEmpty());
    taken(rows.subList(0, 3));
    assertEquals(3, read().all("ask").size());
  }

  /** Earlier asks stay after a refused request, and a request that fits is served afterwards. */
  @Test
  public void tooManyHostsUnderOneKeyAreRefused() throws Exception {
    start();
    taken(Collections.singletonList(row("*", 1, 2)));
    JsonNode before = read().one("ask");
    refused(hosts(0, 10_000, 1, 1), BY_KEY, "names 10001 hosts and racks");
    rounds.commit(ScriptedRounds.allocate(before, node(nm), 1));
    assertEquals(1, collect(am).size());
    read();
    taken(hosts(0, 9_999, 1, 1));
    assertEquals(9_999, read().one("ask").get(8).size());
  }

  /** An ask for the AM's own container is not refused: no AM is there to be told. It is cut. */
  @Test
  public void tooManyHostsForAnAmAreCut() throws Exception {
    startRm();
    nm = node("h1", 8192, 8);
    List<ResourceRequest> rows = hosts(0, 12_000, 0, 1);
    rows.add(row("*", 0, 1));
    app = submit(application().withAmResourceRequests(rows));
    rm.waitForState(app.getApplicationId(), RMAppState.ACCEPTED);
    assertEquals(9_999, read().one("ask").get(8).size());
  }

  /** Rows without {@code *} cost the policy nothing yet, but {@code *} may follow. */
  @Test
  public void hostsWithoutAnyCount() throws Exception {
    start();
    taken(hosts(0, 6_000, 1, 1));
    read();
    refused(hosts(6_000, 12_000, 1, 1), BY_KEY, "names 12000 hosts and racks");
    taken(hosts(0, 6_000, 2, 1));
    read();
    refused(hosts(0, 1, 3, 1), IN_ALL, "names 12001 hosts and racks");
    taken(hosts(0, 6_000, 2, 3));
  }

  /** Asks that are taken back no longer count, and do not stay in YARN's state. */
  @Test
  public void hostsThatAreTakenBackMakeRoom() throws Exception {
    start();
    taken(Collections.singletonList(row("*", 1, 1)));
    for (int turn = 0; turn < 3; turn++) {
      taken(hosts(0, 9_000, 1, 1));
      assertEquals(9_000, read().one("ask").get(8).size());
      List<ResourceRequest> others = hosts(0, 9_000, 1, 0);
      others.addAll(hosts(9_000, 18_000, 1, 1));
      taken(others);
      assertEquals(9_000, read().one("ask").get(8).size());
      assertEquals(9_001, scheduler.getApplicationAttempt(am.getApplicationAttemptId())
          .getAppSchedulingInfo().getAllResourceRequests().size());
      taken(hosts(9_000, 18_000, 1, 0));
      read();
    }
    List<ResourceRequest> last = hosts(0, 9_000, 1, 1);
    taken(last);
    last.forEach(row -> row.setNumContainers(0));
    last.add(row("*", 1, 0));
    taken(last);
    assertEquals(0, read().one("ask").get(7).asInt());
  }

  /** An AM that never takes back what it was allocated can continue without end. */
  @Test
  public void hostsOfAllocatedAsksMakeRoom() throws Exception {
    start();
    for (int id = 1; id <= 4; id++) {
      List<ResourceRequest> rows = hosts(0, 9_000, id, 1);
      rows.add(row("*", id, 1));
      taken(rows);
      rounds.commit(ScriptedRounds.allocate(read().one("ask"), node(nm), 1));
      assertEquals(1, collect(am).size());
      read();
    }
  }

  private Set<SchedulerRequestKey> notedAsAllocated() throws Exception {
    Object rows = FieldUtils.readField(scheduler.getApplicationAttempt(
        am.getApplicationAttemptId()), "askRows", true);
    @SuppressWarnings("unchecked")
    Set<SchedulerRequestKey> served =
        (Set<SchedulerRequestKey>) FieldUtils.readField(rows, "served", true);
    return served;
  }

  /** Nothing is kept of an ask that named no host after it is allocated. */
  @Test
  public void nothingIsNotedOfAsksWithoutHosts() throws Exception {
    start();
    for (int id = 1; id <= 3; id++) {
      taken(Collections.singletonList(row("*", id, 1)));
      rounds.commit(ScriptedRounds.allocate(read().one("ask"), node(nm), 1));
      assertEquals(1, collect(am).size());
      read();
    }
    assertEquals(Collections.emptySet(), notedAsAllocated());
  }

  /** What came back with a lost container is kept, whichever thread looks first. */
  @Test
  public void hostsOfAsksThatAreOutstandingAgainAreKept() throws Exception {
    start();
    List<ResourceRequest> rows = hosts(0, 6_000, 1, 1);
    rows.add(row("*", 1, 1));
    taken(rows);
    assertEquals(6_000, read().one("ask").get(8).size());
    notedAsAllocated().add(SchedulerRequestKey.create(rows.get(0)));
    refused(hosts(0, 6_000, 2, 1), IN_ALL, "names 12001 hosts and racks");
    taken(Collections.singletonList(row("n1", 1, 2)));
    assertEquals(6_000, read().one("ask").get(8).size());
  }

  /** YARN keeps rows of its own for a container that shall grow; they are not the AM's. */
  @Test
  public void growingContainersCountForNothing() throws Exception {
    start();
    rounds.commit(ScriptedRounds.allocate(ask(am, 1024, 5, 1), node(nm), 1));
    Container container = collect(am).get(0);
    nm.nodeHeartbeat(container.getId().getApplicationAttemptId(),
        container.getId().getContainerId(), ContainerState.RUNNING);
    rm.drainEvents();
    am.sendContainerResizingRequest(Collections.singletonList(UpdateContainerRequest.newInstance(
        container.getVersion(), container.getId(), ContainerUpdateType.INCREASE_RESOURCE,
        Resource.newInstance(8192, 1), null)));
    rm.drainEvents();
    read();
    assertEquals("no room for it", 1, scheduler.resizes().count());
    taken(hosts(0, 6_000, 1, 1));
    taken(hosts(0, 6_000, 1, 2));
    taken(hosts(0, 6_000, 2, 1));
    read();
    refused(hosts(0, 1, 3, 1), IN_ALL, "names 12001 hosts and racks");
  }

  @Test
  public void anAskForFiveThousandHostsIsTaken() throws Exception {
    start();
    for (int id = 1; id <= 2; id++) {
      List<ResourceRequest> rows = hosts(0, 5_000, id, 3);
      for (int rack = 0; rack < 200; rack++) {
        rows.add(row("/r" + rack, id, 75));
      }
      rows.add(row("*", id, 15_000));
      taken(rows);
      assertEquals(5_000, read().one("ask").get(8).size());
      taken(rows);
      read();
    }
  }
}
