package org.loomcard.yarn;

import static org.junit.Assert.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.junit.Test;

/**
 * Containers that outlive their AM and the ResourceManager, under seeded churn: AMs die, containers
 * end, the ResourceManager is restarted and its nodes come back one by one. The test keeps a list
 * of what runs. YARN's side, ours and the policy's must agree with it after every step.
 */
public class KeptContainersTest extends SchedulerTestBase {
  private static final int SIZE_MB = 1024;
  private static final int NODE_MB = 65_536;
  private static final int STEPS = 16;
  private Random random;
  private List<MockNM> machines;
  private RMApp app;
  private MockAM am;
  private ContainerId master;
  /** The running containers, the AM's included, with their nodes. */
  private Map<ContainerId, MockNM> running;
  /** How many live containers the policy knows from what was reported to it. */
  private int reported;

  @Override
  protected void more(YarnConfiguration settings) {
    settings.setInt(YarnConfiguration.RM_AM_MAX_ATTEMPTS, 2 * STEPS);
  }

  /** Each live container is counted once and reaches each new AM, whatever was restarted. */
  @Test
  public void keptContainersAreCountedOnce() throws Exception {
    for (int seed = 1; seed <= 4; seed++) {
      begin(seed);
      for (int step = 1; step <= STEPS; step++) {
        step();
        agree("seed " + seed + ", step " + step);
      }
      rm.stop();
    }
  }

  private void begin(int seed) throws Exception {
    random = new Random(seed);
    running = new TreeMap<>();
    reported = 0;
    nodes.clear();
    startRm();
    machines = new ArrayList<>();
    for (int i = 1; i <= 3; i++) {
      machines.add(node("h" + i, NODE_MB, 64));
    }
    app = submit(application().withMaxAppAttempts(2 * STEPS).withKeepContainers(true));
    launch();
  }

  private void step() throws Exception {
    int choice = random.nextInt(6);
    if (choice < 2) {
      allocate(1 + random.nextInt(3));
    } else if (choice == 2) {
      end(new ArrayList<>(running.keySet()).get(random.nextInt(running.size())));
    } else if (choice == 3) {
      end(master);
    } else {
      restart();
    }
    if (!running.containsKey(master)) {
      launch();
    }
  }

  private MockNM anyMachine() {
    return machines.get(random.nextInt(machines.size()));
  }

  private void allocate(int count) throws Exception {
    MockNM nm = anyMachine();
    JsonNode ask = ask(am, SIZE_MB, 5, count);
    reported += rounds.commit(ScriptedRounds.allocate(ask, node(nm), count)).allocated;
    for (Container container : collect(am)) {
      running.put(container.getId(), nm);
      report(container.getId(), ContainerState.RUNNING);
    }
  }

  private void end(ContainerId container) throws Exception {
    report(container, ContainerState.COMPLETE);
    running.remove(container);
  }

  private void report(ContainerId container, ContainerState state) throws Exception {
    running.get(container).nodeHeartbeat(container.getApplicationAttemptId(),
        container.getContainerId(), state);
    rm.drainEvents();
  }

  /** Begins the next attempt, which gets the containers that earlier attempts left. */
  private void launch() throws Exception {
    until("an attempt that waits", () -> app.getCurrentAppAttempt() != null
        && app.getCurrentAppAttempt().getAppAttemptState() == RMAppAttemptState.SCHEDULED);
    MockNM nm = anyMachine();
    am = launchAm(app, nm);
    reported++;
    assertEquals(running.keySet(),
        ids(scheduler.getTransferredContainers(am.getApplicationAttemptId())));
    master = app.getCurrentAppAttempt().getMasterContainer().getId();
    running.put(master, nm);
  }

  /** Some containers end while there is no ResourceManager, and the AM comes while nodes return. */
  private void restart() throws Exception {
    Map<MockNM, List<NMContainerStatus>> reports = new TreeMap<>(
        (one, other) -> one.getNodeId().compareTo(other.getNodeId()));
    Set<ContainerId> ended = new TreeSet<>();
    running.forEach((id, nm) -> {
      boolean ends = random.nextInt(6) == 0;
      reports.computeIfAbsent(nm, unused -> new ArrayList<>()).add(NMContainerStatus.newInstance(
          id, 0, ends ? ContainerState.COMPLETE : ContainerState.RUNNING,
          Resource.newInstance(SIZE_MB, 1), "", 0, Priority.newInstance(5), 0));
      if (ends) {
        ended.add(id);
      }
    });
    running.keySet().removeAll(ended);
    restartRm();
    reported = 0;
    app = rm.getRMContext().getRMApps().get(app.getApplicationId());
    Collections.shuffle(machines, random);
    int early = random.nextInt(machines.size() + 1);
    Set<ContainerId> handed = new TreeSet<>();
    for (int i = 0; i <= machines.size(); i++) {
      if (i == early && running.containsKey(master)) {
        am.setAMRMProtocol(rm.getApplicationMasterService(), rm.getRMContext());
        handed.addAll(ids(am.registerAppAttempt(false).getContainersFromPreviousAttempts()));
      }
      if (i < machines.size()) {
        MockNM nm = machines.get(i);
        nm.setResourceTrackerService(rm.getResourceTrackerService());
        nm.registerNode(reports.get(nm), null);
        rm.drainEvents();
      }
    }
    if (running.containsKey(master)) {
      handed.addAll(ids(am.allocate(new ArrayList<ResourceRequest>(),
          new ArrayList<ContainerId>()).getContainersFromPreviousAttempts()));
      Set<ContainerId> kept = new TreeSet<>(running.keySet());
      kept.removeIf(id -> id.getApplicationAttemptId().equals(am.getApplicationAttemptId()));
      handed.removeIf(id -> id.getApplicationAttemptId().equals(am.getApplicationAttemptId()));
      assertEquals(kept, handed);
    }
  }

  private static Set<ContainerId> ids(List<Container> containers) {
    Set<ContainerId> ids = new TreeSet<>();
    containers.forEach(container -> ids.add(container.getId()));
    return ids;
  }

  /** Counts what is reported to the policy. */
  @Override
  protected ScriptedRounds.Batch read() {
    ScriptedRounds.Batch batch = super.read();
    reported += batch.all("container_added").size() - batch.all("container_completed").size();
    return batch;
  }

  private void agree(String when) {
    int count = running.size();
    int free = machines.size() * NODE_MB - count * SIZE_MB;
    JsonNode check = read().check;
    assertEquals(when + ": what was reported to the policy", count, reported);
    assertEquals(when + ": containers", count, check.get(2).asInt());
    assertEquals(when + ": asks", 0, check.get(3).asInt());
    assertEquals(when + ": free", free, check.get(4).get(0).asInt());
    assertEquals(when + ": used", count * SIZE_MB, scheduler.queues().root().used()[0]);
    assertEquals(when + ": AMs", SIZE_MB, scheduler.queues().root().usedByAms()[0]);
    assertEquals(when + ": metrics", count,
        scheduler.getRootQueueMetrics().getAllocatedContainers());
    ScriptedRounds.Batch snapshot = rounds.snapshot();
    assertEquals(when + ": snapshot", count, snapshot.all("container_added").size());
    assertEquals(when + ": snapshot's free", free, snapshot.check.get(4).get(0).asInt());
  }
}
