package org.loomcard.yarn.player;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.PreemptionContainer;
import org.apache.hadoop.yarn.api.records.PreemptionMessage;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.loomcard.yarn.player.context.End;
import org.loomcard.yarn.player.context.Heard;
import org.loomcard.yarn.player.context.PlayerContext;
import org.loomcard.yarn.player.context.PlayerLog;
import org.loomcard.yarn.player.context.Said;
import org.loomcard.yarn.player.context.Scenario;

/**
 * An application's master: it registers, sends heartbeats, starts containers and unregisters. If
 * its attempt is lost, it begins again with the next one. Its model decides what it asks for and
 * what runs in its containers; the model gets one message after each heartbeat. One thread runs it.
 */
final class ApplicationMaster {
  /** Stands for "every change is seen at once", as nearly as a real cluster can do it. */
  private static final long AT_ONCE_MS = 50;
  /** In that case a change caused by an answer is sent at once, but at most this many times. */
  private static final int WORDS_A_BEAT = 4;
  /** The reported progress; nothing reads it. */
  private static final float PROGRESS = 0.5f;

  private final Scenario.Application application;
  private final PlayerContext context;
  /** The running containers of the present attempt, by their numbers. */
  private final Map<Long, Use> uses = new HashMap<>();
  /** Containers that were given back and have not ended yet. */
  private final Set<ContainerId> back = new HashSet<>();
  private final List<ContainerId> releases = new ArrayList<>();
  /** The starts of held containers, as number and time; filled by other threads. */
  private final Queue<long[]> started = new ConcurrentLinkedQueue<>();
  /** Containers whose nodes did not start them; filled by other threads. */
  private final Queue<ContainerId> notStarted = new ConcurrentLinkedQueue<>();
  /** The connection of the present attempt. */
  private ResourceManagerLink manager;
  private NodeLink nodes;
  /** Known after its first container. */
  private ApplicationAttemptId attempt;
  private Said said = new Said();
  private boolean demanding;

  ApplicationMaster(Scenario.Application application, PlayerContext context) {
    this.application = application;
    this.context = context;
  }

  /**
   * Plays the application to its end in one attempt; returns its final status. After an exception
   * it may be called with the next attempt; ended tasks are not run again.
   */
  FinalApplicationStatus play(ResourceManagerLink manager, NodeLink nodes) throws Exception {
    this.manager = manager;
    this.nodes = nodes;
    manager.register();
    startOver();
    long beatMs = context.heartbeatMs() > 0 ? context.heartbeatMs() : AT_ONCE_MS;
    long next = System.currentTimeMillis();
    while (said.state.isEmpty()) {
      talk();
      next += beatMs;
      awaitBeat(next);
    }
    FinalApplicationStatus status = FinalApplicationStatus.valueOf(said.state);
    finish(status);
    manager.waitUnregistered(status, said.diagnostics);
    return status;
  }

  /** Forgets the previous attempt and its containers, and starts with the next attempt. */
  private void startOver() throws IOException {
    for (Use use : uses.values()) {
      context.log().write(line("ended", use.container.getId()).put("kind", End.KILLED.word()));
    }
    attempt = null;
    uses.clear();
    back.clear();
    releases.clear();
    started.clear();
    notStarted.clear();
    Heard heard = new Heard(application.id);
    heard.registered = true;
    heard.withVcores = manager.withVcores();
    act(heard, new ArrayList<>());
  }

  /** One heartbeat; the asks of an answer are sent with the next one. */
  private void talk() throws Exception {
    int words = context.heartbeatMs() > 0 ? 1 : WORDS_A_BEAT;
    for (int word = 0; word < words && said.state.isEmpty(); word++) {
      for (ContainerId id = notStarted.poll(); id != null; id = notStarted.poll()) {
        releases.add(id);
      }
      if (word > 0 && said.asks.isEmpty() && releases.isEmpty()) {
        return;
      }
      List<ResourceRequest> asks = new ArrayList<>();
      said.asks.forEach(row -> asks.add(request(row)));
      List<ContainerId> released = new ArrayList<>(releases);
      releases.clear();
      hear(manager.allocate(asks, released, PROGRESS));
    }
  }

  private ResourceRequest request(Said.AskRow row) {
    return ResourceRequest.newBuilder()
        .priority(Priority.newInstance(row.priority))
        .allocationRequestId(row.requestId)
        .resourceName(row.name)
        .capability(context.amounts().resource(row.size))
        .numContainers(row.count)
        .build();
  }

  private void hear(AllocateResponse response) throws IOException {
    nodes.learn(response.getNMTokens());
    if (response.getPreemptionMessage() != null) {
      warned(response.getPreemptionMessage());
    }
    Heard heard = new Heard(application.id);
    heard.headroom = context.amounts().of(response.getAvailableResources());
    for (Container each : response.getAllocatedContainers()) {
      attempt = each.getId().getApplicationAttemptId();
      heard.allocated.add(new Object[] {number(each.getId()), each.getPriority().getPriority(),
          each.getAllocationRequestId(), each.getNodeId().getHost()});
    }
    for (ContainerStatus status : response.getCompletedContainersStatuses()) {
      ended(status, heard);
    }
    act(heard, response.getAllocatedContainers());
  }

  /**
   * These containers will be preempted. Without a checkpoint to write, it works on and asks again.
   */
  private void warned(PreemptionMessage message) {
    if (message.getStrictContract() != null) {
      for (PreemptionContainer each : message.getStrictContract().getContainers()) {
        context.log().write(line("warned", each.getId()));
      }
    }
  }

  private void ended(ContainerStatus status, Heard heard) {
    ContainerId id = status.getContainerId();
    End end = End.of(status, back.remove(id));
    context.log().write(line("ended", id).put("kind", end.word())
        .put("exit", status.getExitStatus()));
    if (id.getApplicationAttemptId().equals(attempt)) {
      uses.remove(number(id));
      heard.ended.add(new Object[] {number(id), end.word()});
    }
  }

  /** Sends what happened to the model, and carries out the reply. */
  private void act(Heard heard, List<Container> allocated) throws IOException {
    for (long[] start = started.poll(); start != null; start = started.poll()) {
      heard.started.add(start);
    }
    said = context.models().ask(heard);
    Map<Long, Container> fresh = new HashMap<>();
    allocated.forEach(each -> fresh.put(number(each.getId()), each));
    for (Said.Use use : said.uses) {
      allocated(use, fresh.get(use.container));
    }
    for (long number : said.releases) {
      Use use = uses.get(number);
      if (use != null) {
        giveBack(use.container.getId());
      }
    }
    for (Said.End end : said.ends) {
      Use use = uses.get(end.container);
      if (use != null) {
        use.ends(end.ranMs, end.earliestMs);
        endInTime(use);
      }
    }
    noteDemand(said.demanding);
  }

  private void allocated(Said.Use use, Container container) {
    context.log().write(line("allocated", container.getId()).put("node", use.node)
        .put("stage", use.stage).put("task", use.task).put("attempt", use.attempt));
    if (use.kept) {
      start(new Use(container, use.lengthMs == null), use);
    } else {
      giveBack(container.getId());
    }
  }

  private void start(Use use, Said.Use about) {
    long number = number(use.container.getId());
    uses.put(number, use);
    String command;
    if (use.held) {
      String name = use.container.getId().toString();
      command = context.command().held(name);
      context.held().expect(name, nothing -> {
        long now = System.currentTimeMillis();
        started.add(new long[] {number, now});
        use.started(now);
        endInTime(use);
      });
    } else {
      command = context.command().timed(about.lengthMs, about.status != 0);
    }
    // If a node cannot start it, the node is going: the container is given back, the task waits.
    nodes.start(use.container, command, () -> notStarted.add(use.container.getId()));
  }

  private void giveBack(ContainerId id) {
    back.add(id);
    releases.add(id);
  }

  /** Ends a held container when its time is known; a second call does no harm. */
  private void endInTime(Use use) {
    Long at = use.endsMs();
    if (at != null) {
      context.after(at - System.currentTimeMillis(),
          () -> context.held().end(use.container.getId().toString(), 0));
    }
  }

  /** Ends what still runs: after a success the held containers end normally, others are killed. */
  private void finish(FinalApplicationStatus status) {
    for (Use use : uses.values()) {
      if (use.held && status == FinalApplicationStatus.SUCCEEDED) {
        context.held().end(use.container.getId().toString(), 0);
      }
      context.log().write(line("ended", use.container.getId()).put("kind", End.RELEASED.word()));
    }
    uses.clear();
    noteDemand(false);
  }

  /** Records the begin and the end of each interval in which the application demands containers. */
  private void noteDemand(boolean now) {
    if (now != demanding) {
      demanding = now;
      context.log().write(PlayerLog.line("demand").put("application", application.id)
          .put("on", now));
    }
  }

  /** Waits for the next heartbeat; the model may want a message before it. */
  private void awaitBeat(long nextMs) throws InterruptedException, IOException {
    while (said.state.isEmpty() && said.wakeMs != null && said.wakeMs < nextMs) {
      sleepUntil(said.wakeMs);
      List<Said.AskRow> unsent = said.asks;
      act(new Heard(application.id), new ArrayList<>());
      said.asks = unsent;
    }
    if (said.state.isEmpty()) {
      sleepUntil(nextMs);
    }
  }

  private static void sleepUntil(long timeMs) throws InterruptedException {
    long left = timeMs - System.currentTimeMillis();
    if (left > 0) {
      Thread.sleep(left);
    }
  }

  private ObjectNode line(String event, ContainerId container) {
    return PlayerLog.line(event).put("application", application.id)
        .put("container", container.toString());
  }

  /** Returns the container's number within its attempt. */
  private static long number(ContainerId id) {
    return id.getContainerId() & ContainerId.CONTAINER_ID_BITMASK;
  }
}
