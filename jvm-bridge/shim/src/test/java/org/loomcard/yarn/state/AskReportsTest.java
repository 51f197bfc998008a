package org.loomcard.yarn.state;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.junit.Test;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;

/**
 * A batch takes a limited number of rows of one user's asks; the rest comes with the next batches.
 * The outstanding containers that a batch states are those that its reader can count.
 */
public class AskReportsTest extends SchedulerTestBase {
  private static final int KEYS = 13;
  private static final int HOSTS = 9_000;
  private MockAM alice;
  private MockAM bob;

  private void start() throws Exception {
    startRm();
    MockNM nm = node("h1", 8192, 8);
    alice = launchAm(submit(application()), nm);
    bob = launchAm(submit(application().withUser("bob")), nm);
    read();
  }

  private static List<ResourceRequest> rows(int key) {
    List<ResourceRequest> rows = new ArrayList<>();
    for (int host = -1; host < HOSTS; host++) {
      ResourceRequest row = ResourceRequest.newInstance(Priority.newInstance(5),
          host < 0 ? "*" : "n" + host, Resource.newInstance(1024, 1), 2);
      row.setAllocationRequestId(key);
      rows.add(row);
    }
    return rows;
  }

  private void askForMuch() throws Exception {
    for (int key = 1; key <= KEYS; key++) {
      alice.allocate(rows(key), new ArrayList<ContainerId>());
    }
    bob.allocate("*", 1024, 3, Collections.emptyList());
    rm.drainEvents();
  }

  /** Returns the outstanding containers of the asks in a batch. */
  private static int outstanding(ScriptedRounds.Batch batch) {
    int sum = 0;
    for (JsonNode ask : batch.all("ask")) {
      sum += ask.get(7).asInt();
    }
    return sum;
  }

  /** Reads batches until all is sent, and returns their number; all of bob's is in the first. */
  private int batchesOf(ScriptedRounds.Batch first) {
    assertEquals(1, first.all("ask").stream().filter(ask -> ask.get(7).asInt() == 3).count());
    int seen = outstanding(first);
    assertEquals(seen, first.check.get(3).asInt());
    int count = 1;
    while (rounds.hasPendingEvents()) {
      ScriptedRounds.Batch next = read();
      seen += outstanding(next);
      assertEquals(seen, next.check.get(3).asInt());
      count++;
    }
    assertEquals(2 * KEYS + 3, seen);
    return count;
  }

  @Test
  public void changes() throws Exception {
    start();
    askForMuch();
    assertEquals("an ask at a time", KEYS, batchesOf(read()));
  }

  /** A snapshot takes more, but also a limited number. */
  @Test
  public void snapshots() throws Exception {
    start();
    askForMuch();
    assertEquals("six asks, then one at a time", KEYS - 5, batchesOf(rounds.snapshot()));
  }

  /** An ask that ends before it was sent is never counted. */
  @Test
  public void anAttemptThatEnds() throws Exception {
    start();
    askForMuch();
    int seen = outstanding(read());
    rm.killApp(alice.getApplicationAttemptId().getApplicationId());
    until("the end",
        () -> scheduler.getApplicationAttempt(alice.getApplicationAttemptId()) == null);
    assertTrue(seen > 3);
    assertEquals(3, read().check.get(3).asInt());
  }
}
