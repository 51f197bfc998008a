package org.loomcard.yarn.player.tasks;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.yarn.api.records.Resource;
import org.loomcard.yarn.player.context.Asks;
import org.loomcard.yarn.player.context.Scenario;
import org.loomcard.yarn.player.context.Topology;

/**
 * Kind spark: executors are held from the start to the end, and tasks of open stages run inside
 * them, as many at a time as their vcores hold. A lost executor is asked for again; what ran in it
 * runs again.
 */
final class ExecutorModel implements WorkloadModel {
  private static final int KEY = 0;

  private final Scenario.Application application;
  private final TaskTable table;
  private final Asks asks;
  private final Master master;
  private final int coresAt;
  private final List<Executor> executors = new ArrayList<>();

  /** One executor that runs. */
  private static final class Executor {
    final Use use;
    final List<Task> tasks = new ArrayList<>();
    long free;

    Executor(Use use, long vcores) {
      this.use = use;
      free = vcores;
    }
  }

  ExecutorModel(Scenario.Application application, TaskTable table, Asks asks, Master master,
      Topology topology) {
    this.application = application;
    this.table = table;
    this.asks = asks;
    this.master = master;
    coresAt = topology.indexOf("vcores");
  }

  @Override
  public void begin() {
    table.open();
    for (int i = 0; i < application.executors.count; i++) {
      asks.rows(KEY).add(Collections.emptyList());
    }
  }

  @Override
  public Use allocated(int key, String host) {
    if (asks.rows(KEY).count() == 0) {
      return null;
    }
    asks.rows(KEY).remove(Collections.emptyList());
    return new Use(null, true);
  }

  @Override
  public void started(Use use) {
    executors.add(new Executor(use, application.executors.size[coresAt]));
    fill();
  }

  /** Gives every free slot a task, executors and stages in their order. */
  private void fill() {
    for (Executor executor : executors) {
      for (int stage = 0; stage < application.stages.size(); stage++) {
        long vcores = vcores(stage);
        while (executor.free >= vcores && !table.waiting(stage).isEmpty()) {
          Task task = table.take(stage, executor.use.host);
          executor.free -= vcores;
          executor.tasks.add(task);
          master.later(task.runMs, () -> ended(executor, task));
        }
      }
    }
  }

  private long vcores(int stage) {
    return Math.max(1, application.stages.get(stage).size[coresAt]);
  }

  private void ended(Executor executor, Task task) {
    if (!executor.tasks.remove(task)) {
      return;  // the executor was lost before
    }
    executor.free += vcores(task.stage);
    table.ended(task, task.fails ? End.FAILED : End.COMPLETED);
    table.open();
    fill();
  }

  @Override
  public void ended(Use use, End end) {
    for (Executor executor : new ArrayList<>(executors)) {
      if (executor.use == use) {
        executors.remove(executor);
        executor.tasks.forEach(table::lost);
        executor.tasks.clear();
      }
    }
    asks.rows(KEY).add(Collections.emptyList());
    fill();
  }

  @Override
  public void heard(Resource headroom, boolean withVcores) {
    // Its executors are asked for once, whatever the room.
  }

  @Override
  public TaskTable table() {
    return table;
  }
}
