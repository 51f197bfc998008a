package org.loomcard.yarn.commit;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceBlacklistRequest;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedScheduler;
import org.loomcard.yarn.queues.ReasonCodes;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;

/** The fallback serves all applications and never keeps YARN's lock for long. */
public class FifoFallbackTest extends SchedulerTestBase {
  private final CountingLock lock = new CountingLock();
  private MockNM first;

  @Override
  protected void more(YarnConfiguration settings) {
    settings.setInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_MB, 65_536);
    settings.setInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_VCORES, 1000);
  }

  /** Counts how often the lock is taken, and the allocations each time; can note the time. */
  private final class CountingLock extends ReentrantLock {
    private static final long serialVersionUID = 1L;
    private int holds;
    private long mostAllocations;
    private long before;
    private AtomicLong clock;
    private long firstNanos;

    @Override
    public void lock() {
      super.lock();
      holds++;
      if (clock != null) {
        firstNanos = clock.get();
        clock = null;
      }
      before = scheduler.metrics().allocatedByFallback();
    }

    @Override
    public void unlock() {
      mostAllocations = Math.max(mostAllocations,
          scheduler.metrics().allocatedByFallback() - before);
      super.unlock();
    }
  }

  private FifoFallback fallback(AtomicLong clock, long stepNanos) {
    return new FifoFallback(scheduler.cluster(), committer(), Resource.newInstance(1024, 0), lock,
        () -> clock.addAndGet(stepNanos));
  }

  private FifoFallback fallback() {
    return fallback(new AtomicLong(), 1000);
  }

  private MockAM master() throws Exception {
    RMApp app = submit(application().withUnmanagedAM(true));
    rm.waitForState(app.getApplicationId(), RMAppState.ACCEPTED);
    MockAM am = MockRM.launchUAM(app, rm, first);
    am.registerAppAttempt();
    return am;
  }

  private void asks(MockAM am, int keys, int memoryMb) throws Exception {
    List<ResourceRequest> rows = new ArrayList<>();
    for (int i = 0; i < keys; i++) {
      rows.add(am.createResourceReq("*", memoryMb, 1 + i, 10, null));
    }
    am.allocate(rows, new ArrayList<ContainerId>());
    rm.drainEvents();
  }

  /** Asks that fit on no node are looked at without the lock. */
  @Test
  public void whatFitsNowhereCostsNoLock() throws Exception {
    startRm();
    first = node("big", 65_536, 8);
    for (int i = 0; i < 30; i++) {
      node("h" + i, 2048, 8);
    }
    MockAM greedy = master();
    asks(greedy, 1, 60_000);
    FifoFallback fallback = fallback();
    assertEquals(1, fallback.round());
    for (int i = 0; i < 5; i++) {
      asks(master(), 50, 60_000);
    }
    int before = lock.holds;
    assertEquals(0, fallback.round());
    assertEquals("holds of the lock", before, lock.holds);
    assertFalse(fallback.isUnfinished());
  }

  /** Sizes that no node has as a whole, though each has a part, are tried on the nodes once. */
  @Test
  public void sizesThatFitNowhereAreRemembered() throws Exception {
    FitIndex.ExhaustedShapes sizes = new FitIndex.ExhaustedShapes();
    sizes.add(new long[] {2048, 4});
    assertTrue("at least as large", sizes.cover(new long[] {2048, 5}));
    assertFalse("smaller in one type", sizes.cover(new long[] {4096, 3}));
    sizes.add(new long[] {1024, 4});
    assertTrue("the smaller one stands for both", sizes.cover(new long[] {2048, 4}));
  }

  /** Many allocations take the lock many times, a few allocations each time. */
  @Test
  public void allocationsAreMadeInSlices() throws Exception {
    startRm();
    first = node("big", 65_536, 64);
    MockAM am = master();
    am.allocate("*", 1024, 64, 1, new ArrayList<ContainerId>(), null);
    rm.drainEvents();
    assertEquals(64, fallback().round());
    assertTrue(lock.mostAllocations + " allocations under one hold",
        lock.mostAllocations <= FifoFallback.SLICE);
    assertEquals(64, collect(am).size());
  }

  /** A round ends when its time is over, and the next rounds serve those that had no turn. */
  @Test
  public void nobodyStarvesBehindAnAmWithManyAsks() throws Exception {
    startRm();
    first = node("big", 65_536, 8);
    asks(master(), 1, 60_000);
    assertEquals(1, fallback().round());
    asks(master(), 300, 60_000);
    MockAM modest = master();
    asks(modest, 1, 1024);
    FifoFallback fallback = fallback(new AtomicLong(), TimeUnit.MILLISECONDS.toNanos(1));
    assertEquals("no time for more than some asks", 0, fallback.round());
    assertTrue(fallback.isUnfinished());
    int allocated = 0;
    for (int i = 0; i < 300 && fallback.isUnfinished(); i++) {
      allocated += fallback.round();
    }
    assertEquals(5, allocated);
    assertEquals(5, collect(modest).size());
  }

  private PlanCommitter committer() {
    return new PlanCommitter(scheduler.cluster(), lock, null, scheduler.metrics());
  }

  /** Reading the room of many nodes takes longer than a round may: it serves nevertheless. */
  @Test
  public void readingTheNodesLeavesTimeToServe() throws Exception {
    startRm();
    first = node("big", 65_536, 64);
    MockAM am = master();
    asks(am, 1, 1024);
    AtomicLong clock = new AtomicLong();
    PlanCommitter committer = committer();
    FifoFallback fallback = new FifoFallback(scheduler.cluster(), new FifoFallback.Task() {
      @Override
      public long[] room(LoomcardNode node) {
        clock.addAndGet(2 * FifoFallback.BUDGET_NANOS);
        return FifoFallback.Task.super.room(node);
      }

      @Override
      public String allocate(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node) {
        return committer.allocateByFallback(attempt, key, node);
      }
    }, Resource.newInstance(1024, 0), lock, clock::get);
    assertEquals(10, fallback.round());
    assertEquals(10, collect(am).size());
  }

  /** A node that is reserved for one ask of an attempt is still tried for its larger asks. */
  @Test
  public void aPlaceThatOneAskMayNotHaveIsTriedForTheOthers() throws Exception {
    startRm();
    first = node("big", 65_536, 64);
    MockAM am = master();
    am.allocate(Arrays.asList(am.createResourceReq("*", 1024, 1, 5, null),
        am.createResourceReq("*", 2048, 2, 3, null)), new ArrayList<ContainerId>());
    rm.drainEvents();
    PlanCommitter committer = committer();
    FifoFallback fallback = new FifoFallback(scheduler.cluster(), (attempt, key, node) ->
        key.getPriority().getPriority() == 1 ? ReasonCodes.NODE_RESERVED
            : committer.allocateByFallback(attempt, key, node),
        Resource.newInstance(1024, 0), lock, System::nanoTime);
    assertEquals(3, fallback.round());
    assertEquals(3, collect(am).size());
  }

  /** Even after a round that had little to do, the next one does not begin at once. */
  @Test
  public void aShortRoundIsFollowedByAPause() throws Exception {
    startRm();
    first = node("big", 65_536, 64);
    MockAM am = master();
    AtomicLong clock = new AtomicLong();
    FifoFallback fallback = fallback(clock, TimeUnit.MICROSECONDS.toNanos(100));
    assertEquals("nothing is asked for", 0, fallback.round());
    long ended = clock.get();
    asks(am, 1, 1024);
    lock.clock = clock;
    assertEquals(10, fallback.round());
    long pause = lock.firstNanos - ended;
    assertTrue(pause + " ns", pause >= TimeUnit.MILLISECONDS.toNanos(2));
  }

  /** A round that ran out of time then leaves the lock free for as long as it took itself. */
  @Test
  public void aLongRoundIsFollowedByAPauseOfItsLength() throws Exception {
    startRm();
    first = node("big", 1_000_000, 1000);
    asks(master(), 40, 1024);
    AtomicLong clock = new AtomicLong();
    FifoFallback fallback = fallback(clock, TimeUnit.MILLISECONDS.toNanos(1));
    assertTrue(fallback.round() > 0);
    assertTrue("there is more to allocate", fallback.isUnfinished());
    long ended = clock.get();
    lock.clock = clock;
    assertTrue(fallback.round() > 0);
    long pause = lock.firstNanos - ended;
    assertTrue(pause + " ns", pause >= FifoFallback.BUDGET_NANOS);
  }

  /** An ask for one host only is served there or not at all; a blacklist is respected. */
  @Test
  public void placesThatAnAskForbidsAreNotUsed() throws Exception {
    startRm();
    first = node("h1", 2048, 8);
    node("h2", 8192, 8);
    MockAM strict = master();
    ResourceRequest any = strict.createResourceReq("*", 1024, 1, 5, null);
    any.setRelaxLocality(false);
    strict.allocate(Arrays.asList(strict.createResourceReq("h1", 1024, 1, 5, null),
        rack(strict, 5), any), new ArrayList<ContainerId>());
    MockAM choosy = master();
    choosy.allocate(AllocateRequest.newBuilder()
        .askList(Collections.singletonList(choosy.createResourceReq("*", 1024, 1, 20, null)))
        .resourceBlacklistRequest(ResourceBlacklistRequest.newInstance(
            Collections.singletonList("h2"), null)).build());
    rm.drainEvents();
    assertEquals("h1 has room for two", 2, fallback().round());
    for (Container container : collect(strict)) {
      assertEquals("h1", container.getNodeId().getHost());
    }
    assertTrue("h2 is forbidden to it, h1 is full", collect(choosy).isEmpty());
    assertEquals("another application may use it", 8, allocatedTo(8));
  }

  private static ResourceRequest rack(MockAM am, int count) throws Exception {
    ResourceRequest rack = am.createResourceReq("/default-rack", 1024, 1, count, null);
    rack.setRelaxLocality(false);
    return rack;
  }

  private int allocatedTo(int wanted) throws Exception {
    MockAM am = master();
    asks(am, 1, 1024);
    int allocated = fallback().round();
    assertEquals(allocated, collect(am).size());
    return Math.min(allocated, wanted);
  }

  /** A queue's maximum stops the fallback while the nodes are half empty. */
  @Test
  public void limitsOfQueuesHold() throws Exception {
    ScriptedScheduler.policyConfig = new ConfigText().queue("root", -1, false, "")
        .queue("root.default", 0, true, "\"maximum\":{\"ppm\":250000}").text();
    startRm();
    first = node("h1", 8192, 8);
    MockAM am = master();
    asks(am, 3, 1024);
    scheduler.queues().settle(); // as the bridge does before each of its rounds
    assertEquals(2, fallback().round());
    assertEquals(2, collect(am).size());
    assertEquals(0, fallback().round());
  }
}
