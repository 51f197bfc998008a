package org.loomcard.yarn.player;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.PreemptionContainer;
import org.apache.hadoop.yarn.api.records.PreemptionMessage;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.loomcard.yarn.player.context.Asks;
import org.loomcard.yarn.player.context.PlayerContext;
import org.loomcard.yarn.player.context.PlayerLog;
import org.loomcard.yarn.player.context.Scenario;
import org.loomcard.yarn.player.tasks.End;
import org.loomcard.yarn.player.tasks.Task;
import org.loomcard.yarn.player.tasks.Use;
import org.loomcard.yarn.player.tasks.WorkloadModel;
import org.loomcard.yarn.player.tasks.WorkloadModels;

/**
 * An application's master: registers, asks, starts containers, hears of their ends, and
 * unregisters; where its attempt is lost, again with the next one. One thread runs it; what others
 * have to say comes through its mail.
 */
final class ApplicationMaster implements WorkloadModel.Master {
  /** "Every change is seen at once", as near as a real cluster comes to it. */
  private static final long AT_ONCE_MS = 50;
  /** Then a change that an answer brought about is sent at once, but not for ever. */
  private static final int WORDS_A_BEAT = 4;
  /** Nobody reads it. */
  private static final float PROGRESS = 0.5f;

  private final Scenario.Application application;
  private final PlayerContext context;
  private final Asks asks;
  private final WorkloadModel model;
  private final LinkedBlockingQueue<Runnable> mail = new LinkedBlockingQueue<>();
  private final Map<ContainerId, Use> uses = new HashMap<>();
  /** Containers that were given back and have not ended yet. */
  private final Set<ContainerId> back = new HashSet<>();
  private final List<ContainerId> releases = new ArrayList<>();
  /** Of the present attempt. */
  private ResourceManagerLink manager;
  private NodeLink nodes;
  private boolean begun;
  private boolean demanding;

  ApplicationMaster(Scenario.Application application, PlayerContext context) {
    this.application = application;
    this.context = context;
    asks = new Asks(context.topology());
    model = WorkloadModels.of(application, context, asks, this);
  }

  /**
   * Plays the application to its end in one attempt; returns its final status. After an exception
   * it may be called with the next attempt: tasks that have ended stay ended.
   */
  FinalApplicationStatus play(ResourceManagerLink manager, NodeLink nodes) throws Exception {
    this.manager = manager;
    this.nodes = nodes;
    manager.register();
    if (begun) {
      startOver();
    } else {
      begun = true;
      model.begin();
    }
    long beatMs = context.heartbeatMs() > 0 ? context.heartbeatMs() : AT_ONCE_MS;
    long next = System.currentTimeMillis();
    while (!model.table().isOver()) {
      talk();
      next += beatMs;
      awaitMail(next);
    }
    boolean failed = model.table().hasFailed();
    FinalApplicationStatus status =
        failed ? FinalApplicationStatus.FAILED : FinalApplicationStatus.SUCCEEDED;
    finish(failed);
    manager.waitUnregistered(status, failed ? "a task failed too often" : "");
    return status;
  }

  /** The attempt before is gone with its containers; what ran in them waits again. */
  private void startOver() {
    releases.clear();
    back.clear();
    for (Map.Entry<ContainerId, Use> entry : new ArrayList<>(uses.entrySet())) {
      context.log().write(line("ended", entry.getKey()).put("kind", End.KILLED.word()));
      uses.remove(entry.getKey());
      model.ended(entry.getValue(), End.KILLED);
    }
    asks.unreported();
  }

  /** One heartbeat; what an answer changes in the asks is sent with the next one. */
  private void talk() throws Exception {
    int words = context.heartbeatMs() > 0 ? 1 : WORDS_A_BEAT;
    for (int word = 0; word < words; word++) {
      List<ResourceRequest> changes = asks.changes();
      if (word > 0 && changes.isEmpty() && releases.isEmpty()) {
        return;
      }
      List<ContainerId> released = new ArrayList<>(releases);
      releases.clear();
      hear(manager.allocate(changes, released, PROGRESS));
      noteDemand();
      if (model.table().isOver()) {
        return;
      }
    }
  }

  private void hear(AllocateResponse response) {
    nodes.learn(response.getNMTokens());
    if (response.getPreemptionMessage() != null) {
      warned(response.getPreemptionMessage());
    }
    for (ContainerStatus status : response.getCompletedContainersStatuses()) {
      ended(status);
    }
    for (Container container : response.getAllocatedContainers()) {
      allocated(container);
    }
    model.heard(response.getAvailableResources(), manager.withVcores());
  }

  /** These will be taken: it has no checkpoint to write, so it works on and asks again. */
  private void warned(PreemptionMessage message) {
    if (message.getStrictContract() != null) {
      for (PreemptionContainer each : message.getStrictContract().getContainers()) {
        context.log().write(line("warned", each.getId()));
      }
    }
  }

  private void allocated(Container container) {
    int key = asks.keyOf(container.getPriority().getPriority(),
        container.getAllocationRequestId());
    String host = context.topology().name(container.getNodeId().getHost());
    asks.rows(key).allocated(host);
    Use use = model.allocated(key, host);
    Task task = use == null ? null : use.task;
    context.log().write(line("allocated", container.getId()).put("node", host)
        .put("stage", application.executors == null ? stageId(key) : "")
        .put("task", task == null ? -1 : task.index)
        .put("attempt", task == null ? 1 : task.attempt));
    if (use == null) {
      back.add(container.getId());
      releases.add(container.getId());
    } else {
      use.container = container;
      use.host = host;
      uses.put(container.getId(), use);
      start(use);
    }
  }

  private String stageId(int key) {
    return application.stages.get(model.stage(key)).id;
  }

  private void start(Use use) {
    String name = use.container.getId().toString();
    String command;
    if (use.held) {
      command = context.command().held(name);
      context.held().expect(name, nothing -> mail.add(() -> model.started(use)));
    } else {
      command = context.command().timed(use.task.runMs, use.task.fails);
    }
    use.launchedMs = System.currentTimeMillis();
    // A node that cannot start it is one that goes: the container is given back, the task waits.
    nodes.start(use.container, command,
        () -> mail.add(() -> releases.add(use.container.getId())));
  }

  private void ended(ContainerStatus status) {
    ContainerId id = status.getContainerId();
    End end = End.of(status, back.remove(id));
    context.log().write(line("ended", id).put("kind", end.word())
        .put("exit", status.getExitStatus()));
    Use use = uses.remove(id);
    if (use != null) {
      model.ended(use, end);
    }
  }

  /** What still runs goes with the application: held containers by themselves, others killed. */
  private void finish(boolean failed) {
    for (Map.Entry<ContainerId, Use> entry : uses.entrySet()) {
      if (entry.getValue().held && !failed) {
        context.held().end(entry.getKey().toString(), 0);
      }
      context.log().write(line("ended", entry.getKey()).put("kind", End.RELEASED.word()));
    }
    uses.clear();
    asks.forget();
    noteDemand();
  }

  /** Records where the intervals begin and end in which the application demands. */
  private void noteDemand() {
    boolean now = !uses.isEmpty() || asks.count() > 0;
    if (now != demanding) {
      demanding = now;
      context.log().write(PlayerLog.line("demand").put("application", application.id)
          .put("on", now));
    }
  }

  private ObjectNode line(String event, ContainerId container) {
    return PlayerLog.line(event).put("application", application.id)
        .put("container", container.toString());
  }

  @Override
  public void later(long ms, Runnable what) {
    context.after(ms, () -> mail.add(what));
  }

  @Override
  public void release(Use use) {
    back.add(use.container.getId());
    releases.add(use.container.getId());
  }

  @Override
  public void end(Use use) {
    context.held().end(use.container.getId().toString(), 0);
  }

  private void awaitMail(long untilMs) throws InterruptedException {
    long left = untilMs - System.currentTimeMillis();
    while (left > 0 && !model.table().isOver()) {
      Runnable letter = mail.poll(left, TimeUnit.MILLISECONDS);
      if (letter != null) {
        letter.run();
      }
      left = untilMs - System.currentTimeMillis();
    }
  }
}
