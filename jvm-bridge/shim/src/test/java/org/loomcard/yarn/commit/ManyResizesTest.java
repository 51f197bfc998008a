package org.loomcard.yarn.commit;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;
import org.loomcard.yarn.Slow;

/** Thousands of changes that cannot be served block neither YARN's lock nor other changes. */
@Category(Slow.class)
public class ManyResizesTest extends SchedulerTestBase {
  private static final int MANY = 10_000;
  /** Each look at the time stands for a look at a change, and takes this long. */
  private static final long STEP_NANOS = TimeUnit.MICROSECONDS.toNanos(10);
  private static final int LOOKS_A_ROUND = (int) (ContainerResizes.BUDGET_NANOS / STEP_NANOS);
  private final LooksUnderLock lock = new LooksUnderLock();
  private long now;
  private MockAM am;
  private ContainerResizes resizes;

  /** Counts how often the lock is taken, and the looks at the time each time. */
  private static final class LooksUnderLock extends ReentrantLock {
    private static final long serialVersionUID = 1L;
    private int holds;
    private int looks;
    private int mostLooks;

    @Override
    public void lock() {
      super.lock();
      holds++;
      looks = 0;
    }

    @Override
    public void unlock() {
      mostLooks = Math.max(mostLooks, looks);
      super.unlock();
    }
  }

  @Override
  protected void more(YarnConfiguration settings) {
    settings.setInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_MB, 65_536);
  }

  private long look() {
    if (lock.isHeldByCurrentThread()) {
      lock.looks++;
    }
    now += STEP_NANOS;
    return now;
  }

  /** Starts the AM on h0 and its containers on h1 and h2; h1 has this much room left. */
  private List<Container> start(int freeMb) throws Exception {
    startRm();
    MockNM h0 = node("h0", 2048, 8);
    MockNM h1 = node("h1", MANY * 1024 + freeMb, 8);
    MockNM h2 = node("h2", 4096, 8);
    am = launchAm(submit(application()), h0);
    read();
    JsonNode ask = ask(am, 1024, 5, MANY + 1);
    rounds.commit(ScriptedRounds.allocate(ask, node(h1), MANY),
        ScriptedRounds.allocate(ask, node(h2), 1));
    List<Container> containers = new ArrayList<>(collect(am));
    assertEquals(MANY + 1, containers.size());
    Collections.sort(containers, (a, b) -> a.getId().compareTo(b.getId()));
    resizes = new ContainerResizes(scheduler.cluster(), new PlanCommitter(scheduler.cluster(), lock,
        null, scheduler.metrics()), lock, this::look);
    return containers;
  }

  private void grow(List<Container> containers, List<String> blacklist) {
    ContainerUpdates updates = new ContainerUpdates();
    for (Container container : containers) {
      updates.getIncreaseRequests().add(UpdateContainerRequest.newInstance(container.getVersion(),
          container.getId(), ContainerUpdateType.INCREASE_RESOURCE, Resource.newInstance(2048, 1),
          null));
    }
    scheduler.allocate(am.getApplicationAttemptId(), new ArrayList<>(), null,
        new ArrayList<ContainerId>(), blacklist, null, updates);
    resizes.asked(scheduler.getApplicationAttempt(am.getApplicationAttemptId()), updates);
    scheduler.cluster().clearPendingEvents();
  }

  /** Returns by how much the AM and the containers use more than when they started. */
  private long grownMb() {
    return scheduler.queues().root().used()[0] - (MANY + 2) * 1024;
  }

  /** Serves until one change is served; returns the number of that round. */
  private int servedInRound() {
    for (int round = 1; round <= 2 * MANY / LOOKS_A_ROUND; round++) {
      assertTrue("a round is wanted", resizes.hasPending());
      resizes.serve();
      if (grownMb() > 0) {
        return round;
      }
    }
    throw new AssertionError("the last change got no turn");
  }

  private void serveTheRest() {
    for (int round = 0; round <= 2 * MANY / LOOKS_A_ROUND && resizes.hasPending(); round++) {
      resizes.serve();
      scheduler.cluster().clearPendingEvents();
    }
    assertFalse("all got their turn", resizes.hasPending());
    assertEquals(MANY, resizes.count());
    assertEquals("one was served", 1024, grownMb());
  }

  /** Changes that a node has no room for are skipped without the lock. */
  @Test
  public void whatDoesNotFitCostsNoLock() throws Exception {
    grow(start(0), null);
    int round = servedInRound();
    assertTrue("round " + round, round > 1);
    serveTheRest();
    assertEquals("holds of the lock", 1, lock.holds);
  }

  /** Changes that are refused for another reason are tried a few at a time. */
  @Test
  public void whatIsForbiddenIsTriedInSlices() throws Exception {
    grow(start(4096), Collections.singletonList("h1"));
    servedInRound();
    serveTheRest();
    assertTrue("looks under one hold: " + lock.mostLooks,
        lock.mostLooks > 0 && lock.mostLooks <= ContainerResizes.SLICE + 1);
  }
}
