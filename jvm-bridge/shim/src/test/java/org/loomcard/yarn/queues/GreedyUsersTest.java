package org.loomcard.yarn.queues;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.api.protocolrecords.NodeHeartbeatResponse;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedRounds;
import org.loomcard.yarn.ScriptedScheduler;
import org.loomcard.yarn.Slow;

/**
 * Whatever users do, in whatever order: no limit is exceeded, each queue uses what its containers
 * have, and nothing after all applications have ended. Seeded; every message contains the seed.
 */
@Category(Slow.class)
public class GreedyUsersTest extends SchedulerTestBase {
  private static final String[] USERS = {"alice", "bob"};
  private static final String[] QUEUES = {"root.a.x", "root.a.y", "root.b"};
  private static final int SEEDS = 5;
  private static final int STEPS = 250;
  private final List<Running> running = new ArrayList<>();
  private final List<MockNM> nms = new ArrayList<>();
  private final Map<Integer, JsonNode> asks = new HashMap<>();
  private final Map<String, Long> usedBefore = new HashMap<>();
  private Random random;
  private boolean moved;
  private int allocated;
  private int resized;
  private int restarted;

  /** An application with its present AM, managed or not, and the containers allocated to it. */
  private static final class Running {
    private final RMApp app;
    private final boolean unmanaged;
    private final List<ContainerId> containers = new ArrayList<>();
    private MockAM am;

    private Running(RMApp app, boolean unmanaged) {
      this.app = app;
      this.unmanaged = unmanaged;
    }
  }

  @Override
  protected void more(YarnConfiguration settings) {
    settings.setInt(YarnConfiguration.RM_AM_MAX_ATTEMPTS, 100);
  }

  @Test
  public void useReturnsToZero() throws Exception {
    ScriptedScheduler.policyConfig = new ConfigText().queue("root", -1, false, "")
        .queue("root.a", 0, false, "\"maximum\":{\"ppm\":700000}")
        .queue("root.a.x", 1, true, "\"am_share_ppm\":400000,\"user_limit_ppm\":600000")
        .queue("root.a.y", 1, true, "\"maximum_applications_per_user\":2")
        .queue("root.b", 0, true, "\"maximum_applications\":3").text();
    startRm();
    for (int i = 1; i <= 3; i++) {
      nms.add(node("h" + i, 16384, 32));
    }
    for (int seed = 1; seed <= SEEDS; seed++) {
      live(seed);
      nothingIsLeft("seed " + seed);
    }
  }

  private void live(int seed) throws Exception {
    random = new Random(seed);
    allocated = 0;
    resized = 0;
    restarted = 0;
    for (int step = 0; step < STEPS; step++) {
      act();
      agree("seed " + seed + " step " + step);
    }
    while (!running.isEmpty()) {
      end(running.get(0));
      agree("seed " + seed + " at the end");
    }
    assertTrue("seed " + seed + " allocated " + allocated + ", resized " + resized + ", restarted "
        + restarted, allocated >= 100 && resized >= 10 && restarted >= 1);
  }

  private void nothingIsLeft(String seed) throws Exception {
    heartbeats();
    for (LoomcardQueue queue : scheduler.queues().queues()) {
      assertEquals(seed + " " + queue.path(), "[0, 0] [0, 0] [0, 0] 0 0 0 0 0",
          Arrays.toString(queue.used()) + " " + Arrays.toString(queue.usedByAms()) + " "
          + Arrays.toString(queue.usedOn("")) + " " + queue.containers() + " "
          + queue.applications() + " " + queue.getMetrics().getAllocatedMB() + " "
          + queue.usedBy(USERS[0])[0] + " " + queue.usedBy(USERS[1])[0]);
    }
    for (MockNM nm : nms) {
      assertEquals(seed + " " + nm.getNodeId(), 0,
          scheduler.getNodeReport(nm.getNodeId()).getUsedResource().getMemorySize());
    }
  }

  private void act() throws Exception {
    int deed = random.nextInt(12);
    if (deed < 2 || running.isEmpty()) {
      submit();
      return;
    }
    Running one = running.get(random.nextInt(running.size()));
    switch (deed) {
      case 2: case 3: case 4: ask(one); break;
      case 5: case 6: resize(one); break;
      case 7: move(one); break;
      case 8: case 9: release(one); break;
      case 10: restart(one); break;
      default: end(one);
    }
    allocate();
    if (running.contains(one)) {
      heard(one, one.am.allocate(Collections.emptyList(), Collections.emptyList()));
    }
    heartbeats();
  }

  private void submit() throws Exception {
    String queue = QUEUES[random.nextInt(QUEUES.length)];
    boolean unmanaged = random.nextInt(4) == 0;
    RMApp app = submit(application().withQueue(queue).withUser(USERS[random.nextInt(2)])
        .withUnmanagedAM(unmanaged).withKeepContainers(random.nextBoolean())
        .withMaxAppAttempts(100));
    until("its fate", () -> app.getState() == RMAppState.ACCEPTED
        || app.getState() == RMAppState.FAILED);
    if (app.getState() == RMAppState.FAILED) {
      return;
    }
    Running one = new Running(app, unmanaged);
    running.add(one);
    if (unmanaged) {
      one.am = MockRM.launchUAM(app, rm, nms.get(0));
      one.am.registerAppAttempt();
    } else {
      launch(one);
    }
  }

  /** Starts the AM of the present attempt; ends the application if a limit makes it wait. */
  private void launch(Running one) throws Exception {
    until("its ask", () -> one.app.getCurrentAppAttempt() != null
        && one.app.getCurrentAppAttempt().getAppAttemptState() == RMAppAttemptState.SCHEDULED);
    RMAppAttempt attempt = one.app.getCurrentAppAttempt();
    rm.drainEvents();
    allocate();
    if (attempt.getMasterContainer() == null) {
      end(one);
      return;
    }
    one.am = rm.sendAMLaunched(attempt.getAppAttemptId());
    one.am.registerAppAttempt();
    report(attempt.getMasterContainer().getId(), ContainerState.RUNNING);
  }

  /** The AM dies, and another replaces it, with or without the containers of the first. */
  private void restart(Running one) throws Exception {
    if (one.unmanaged) {
      return;
    }
    RMAppAttempt before = one.app.getCurrentAppAttempt();
    report(before.getMasterContainer().getId(), ContainerState.COMPLETE);
    until("another attempt", () -> one.app.getCurrentAppAttempt() != before);
    heartbeats();
    one.containers.removeIf(id -> scheduler.getRMContainer(id) == null);
    launch(one);
    restarted++;
  }

  private void ask(Running one) throws Exception {
    heard(one, one.am.allocate("*", 512 * (1 + random.nextInt(6)), 1 + random.nextInt(4),
        1 + random.nextInt(3), new ArrayList<ContainerId>(), null));
  }

  /** Allocates every ask on any node; the checks refuse what is too much. */
  private void allocate() {
    for (JsonNode ask : read().all("ask")) {
      asks.put(ask.get(2).asInt() * 100 + ask.get(3).asInt(), ask);
    }
    asks.values().removeIf(ask -> ask.get(7).asInt() == 0);
    for (JsonNode ask : asks.values()) {
      for (MockNM nm : nms) {
        allocated += rounds.commit(ScriptedRounds.allocate(ask, node(nm), 1)).allocated;
      }
    }
    rm.drainEvents();
  }

  /** Takes what the AM gets: containers, which it starts, and changes of their sizes. */
  private void heard(Running one, AllocateResponse response) throws Exception {
    for (Container container : response.getAllocatedContainers()) {
      one.containers.add(container.getId());
      report(container.getId(), ContainerState.RUNNING);
    }
    resized += response.getUpdatedContainers().size();
    rm.drainEvents();
  }

  private void report(ContainerId id, ContainerState state) throws Exception {
    RMContainer container = scheduler.getRMContainer(id);
    if (container != null) {
      String host = container.getNodeId().getHost();
      heartbeat(nms.get(Integer.parseInt(host.substring(1)) - 1),
          Collections.singletonList(status(id, state)));
    }
  }

  private static ContainerStatus status(ContainerId id, ContainerState state) {
    return BuilderUtils.newContainerStatus(id, state, "", 0, Resource.newInstance(0, 0));
  }

  private void heartbeats() throws Exception {
    for (MockNM nm : nms) {
      heartbeat(nm, Collections.emptyList());
    }
  }

  /** Acts like a node: a container that it shall kill has ended by the next heartbeat. */
  private void heartbeat(MockNM nm, List<ContainerStatus> statuses) throws Exception {
    rm.drainEvents();
    List<ContainerStatus> reported = statuses;
    do {
      NodeHeartbeatResponse answer = nm.nodeHeartbeat(reported, true);
      rm.drainEvents();
      reported = new ArrayList<>();
      for (ContainerId id : answer.getContainersToCleanup()) {
        reported.add(status(id, ContainerState.COMPLETE));
      }
    } while (!reported.isEmpty());
  }

  private void resize(Running one) throws Exception {
    List<ContainerId> all = new ArrayList<>(one.containers);
    if (!one.unmanaged) {
      all.add(one.app.getCurrentAppAttempt().getMasterContainer().getId());
    }
    RMContainer chosen = all.isEmpty() ? null
        : scheduler.getRMContainer(all.get(random.nextInt(all.size())));
    if (chosen == null) {
      return;
    }
    long now = chosen.getContainer().getResource().getMemorySize();
    boolean grows = random.nextBoolean() || now <= 512;
    Resource size = Resource.newInstance(grows ? now + 1024 : now / 2,
        chosen.getContainer().getResource().getVirtualCores());
    heard(one, one.am.sendContainerResizingRequest(Collections.singletonList(
        UpdateContainerRequest.newInstance(chosen.getContainer().getVersion(),
        chosen.getContainerId(), grows ? ContainerUpdateType.INCREASE_RESOURCE
            : ContainerUpdateType.DECREASE_RESOURCE, size, null))));
  }

  private void move(Running one) {
    try {
      scheduler.moveApplication(one.app.getApplicationId(),
          QUEUES[random.nextInt(QUEUES.length)]);
      moved = true;
    } catch (YarnException e) {
      assertTrue(e.getMessage(), e.getMessage().contains("already has"));
    }
  }

  private void release(Running one) throws Exception {
    if (!one.containers.isEmpty()) {
      ContainerId id = one.containers.remove(random.nextInt(one.containers.size()));
      if (random.nextBoolean()) {
        report(id, ContainerState.COMPLETE);
      } else {
        heard(one, one.am.allocate(Collections.emptyList(), Collections.singletonList(id)));
      }
    }
  }

  private void end(Running one) throws Exception {
    running.remove(one);
    rm.killApp(one.app.getApplicationId());
    rm.waitForState(one.app.getApplicationId(), RMAppState.KILLED);
    heartbeats();
  }

  /** Checks that the queues use what the live containers have. */
  private void agree(String when) {
    rm.drainEvents();
    long sum = 0;
    for (Running one : running) {
      for (RMContainer container : scheduler.getApplicationAttempt(
          one.am.getApplicationAttemptId()).getLiveContainers()) {
        sum += container.getContainer().getResource().getMemorySize();
      }
    }
    assertEquals(when, sum, scheduler.queues().root().used()[0]);
    assertEquals(when, sum, scheduler.queues().root().getMetrics().getAllocatedMB());
    for (LoomcardQueue queue : scheduler.queues().queues()) {
      assertTrue(when + " " + queue, queue.used()[0] >= 0 && queue.usedByAms()[0] >= 0
          && queue.used()[0] >= queue.usedByAms()[0]);
      within(when + " " + queue, queue.path(), queue.used()[0], queue.maximum()[0]);
      for (String user : USERS) {
        within(when + " " + user + " in " + queue, queue.path() + user, queue.usedBy(user)[0],
            queue.maximum()[0] * queue.spec().userLimitPpm / 1_000_000);
      }
    }
    moved = false;
  }

  /** As in CapacityScheduler, only a move may bring more into a queue than its limit. */
  private void within(String when, String name, long used, long limit) {
    Long before = usedBefore.put(name, used);
    assertTrue(when, used <= limit || moved || before != null && used <= before);
  }
}
