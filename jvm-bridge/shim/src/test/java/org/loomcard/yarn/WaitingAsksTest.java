package org.loomcard.yarn;

import static org.junit.Assert.assertEquals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.loomcard.yarn.rounds.WaitReasons;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.status.WaitingApplication;
import org.loomcard.yarn.status.WaitingStatus;
import org.loomcard.yarn.wire.PlanMessage;

/** What a reader of the document sees of a user with very many asks. */
@Category(Slow.class)
public class WaitingAsksTest extends SchedulerTestBase {
  private static final int KEYS = 300;

  private LoomcardAttempt ask(RMApp app, MockAM am, int count) throws Exception {
    List<ResourceRequest> asks = new ArrayList<>();
    for (int i = 1; i <= KEYS; i++) {
      asks.add(ResourceRequest.newBuilder().priority(Priority.newInstance(i)).numContainers(count)
          .resourceName("*").capability(Resource.newInstance(1024, 1)).build());
    }
    am.allocate(asks, new ArrayList<ContainerId>());
    rm.drainEvents();
    return (LoomcardAttempt) scheduler.getSchedulerApplications().get(app.getApplicationId())
        .getCurrentAppAttempt();
  }

  /**
   * All asks are counted; the first of the queue are listed, with the reason that its policy gave.
   */
  @Test
  public void manyAsksAreCountedAndFewListed() throws Exception {
    startRm();
    MockNM nm = node("h1", 8192, 8);
    RMApp one = submit(application());
    MockAM first = launchAm(one, nm);
    RMApp other = submit(application());
    MockAM second = launchAm(other, nm);
    List<LoomcardAttempt> attempts = Arrays.asList(ask(one, first, 2), ask(other, second, 3));
    for (int limit : new int[] {0, 10, KEYS + 5}) {
      WaitingStatus waiting = new WaitingAsks(rm.getRMContext(), attempts, limit)
          .with(new WaitReasons(), 0);
      assertEquals(2, waiting.applications);
      assertEquals(2 * KEYS, waiting.asks);
      assertEquals(5 * KEYS, waiting.containers);
      int listed = 0;
      for (WaitingApplication application : waiting.listed) {
        listed += application.asks.size();
      }
      assertEquals(limit, listed);
    }
    int number = attempts.get(0).number();
    WaitReasons reasons = new WaitReasons();
    reasons.update(Arrays.asList(
        new PlanMessage.Wait(number, 2, -1, "NODE_FULL", 5000L),
        new PlanMessage.Wait(99, 1, -1, "NONE", null),
        new PlanMessage.Wait(attempts.get(1).number(), 1, -1, "USER_LIMIT", null)),
        Collections.<PlanMessage.QueueWait>emptyList());
    WaitingStatus waiting = new WaitingAsks(rm.getRMContext(), attempts, 2).with(reasons, 1_000);
    WaitingApplication shown = waiting.listed.get(0);
    assertEquals(1, waiting.listed.size());
    assertEquals("root.default", shown.queue);
    assertEquals(Arrays.asList(null, "NODE_FULL"),
        Arrays.asList(shown.asks.get(0).reason, shown.asks.get(1).reason));
    assertEquals(Long.valueOf(6000), shown.asks.get(1).untilMs);
  }
}
