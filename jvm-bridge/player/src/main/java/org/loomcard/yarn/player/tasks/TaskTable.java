package org.loomcard.yarn.player.tasks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import org.loomcard.yarn.player.context.Scenario;

/**
 * What of an application is done, runs, is asked for or still to come; knows nothing of YARN.
 *
 * <p>A stage opens when every stage before it has ended. A container goes first to a task that
 * wants its node, then to one that wants a node of its rack, then to the one of lowest index. Of a
 * task, {@code maxAttempts} failures fail the application; losses do not count.
 */
public final class TaskTable {
  private final Scenario.Application application;
  private final UnaryOperator<String> rackOf;
  private final List<Progress> stages = new ArrayList<>();
  private boolean failed;

  /** How far one stage is. */
  private static final class Progress {
    final TreeSet<Integer> waiting = new TreeSet<>();
    final int[] tries;
    final int[] failures;
    boolean open;
    int left;

    Progress(int tasks) {
      tries = new int[tasks];
      failures = new int[tasks];
      left = tasks;
    }

    void open() {
      open = true;
      for (int task = 0; task < tries.length; task++) {
        waiting.add(task);
      }
    }
  }

  TaskTable(Scenario.Application application, UnaryOperator<String> rackOf) {
    this.application = application;
    this.rackOf = rackOf;
    for (Scenario.Stage stage : application.stages) {
      stages.add(new Progress(stage.tasks()));
    }
  }

  /** Opens what may begin now, in the order of the stages; all tasks of it wait from now on. */
  List<Integer> open() {
    List<Integer> opened = new ArrayList<>();
    for (int i = 0; i < stages.size(); i++) {
      Progress progress = stages.get(i);
      if (!progress.open && parentsEnded(i)) {
        progress.open();
        opened.add(i);
      }
    }
    return opened;
  }

  /** Opens every stage, for an application that has a rule of its own for when to ask. */
  void openAll() {
    stages.forEach(Progress::open);
  }

  private boolean parentsEnded(int stage) {
    for (int parent : application.stages.get(stage).after) {
      if (stages.get(parent).left > 0) {
        return false;
      }
    }
    return true;
  }

  /** Indexes of the tasks of a stage that wait for a container. */
  Collection<Integer> waiting(int stage) {
    return stages.get(stage).waiting;
  }

  /** How many tasks of a stage have not ended. */
  int left(int stage) {
    return stages.get(stage).left;
  }

  /** The task that a container on {@code host} is used for, or null if none waits. */
  Task take(int stage, String host) {
    Progress progress = stages.get(stage);
    if (progress.waiting.isEmpty()) {
      return null;
    }
    int index = choose(stage, host);
    progress.waiting.remove(index);
    int attempt = ++progress.tries[index];
    Scenario.Stage about = application.stages.get(stage);
    long[] fails = about.failsMs.get(index);
    int failures = progress.failures[index];
    boolean bad = fails != null && failures < fails.length;
    long runMs = bad ? fails[failures] : about.durationsMs[index];
    return new Task(stage, index, attempt, runMs, bad);
  }

  private int choose(int stage, String host) {
    Scenario.Stage about = application.stages.get(stage);
    TreeSet<Integer> waiting = stages.get(stage).waiting;
    if (about.nodes.isEmpty()) {
      return waiting.first();
    }
    String rack = rackOf.apply(host);
    int near = -1;
    for (int index : waiting) {
      List<String> wishes = about.wishes(index);
      if (wishes.contains(host)) {
        return index;
      }
      if (near < 0 && wishes.stream().anyMatch(wish -> rackOf.apply(wish).equals(rack))) {
        near = index;
      }
    }
    return near < 0 ? waiting.first() : near;
  }

  /** A task's container has ended: it is done, or has failed, or waits again. */
  void ended(Task task, End end) {
    if (end == End.COMPLETED) {
      stages.get(task.stage).left--;
    } else if (end == End.FAILED) {
      failed(task);
    } else {
      lost(task);
    }
  }

  /** It waits again, or the application has failed. */
  private void failed(Task task) {
    Progress progress = stages.get(task.stage);
    if (++progress.failures[task.index] >= application.maxAttempts) {
      failed = true;
    } else {
      progress.waiting.add(task.index);
    }
  }

  /** A task's container was lost or taken away: it waits again. */
  void lost(Task task) {
    stages.get(task.stage).waiting.add(task.index);
  }

  /** Whether a task failed too often. */
  public boolean hasFailed() {
    return failed;
  }

  /** Whether nothing is left to do: every stage has ended, or a task failed too often. */
  public boolean isOver() {
    return failed || hasEnded();
  }

  /** Whether every stage has ended. */
  boolean hasEnded() {
    return stages.stream().allMatch(stage -> stage.left == 0);
  }
}
