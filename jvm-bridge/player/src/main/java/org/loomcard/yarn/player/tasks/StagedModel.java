package org.loomcard.yarn.player.tasks;

import org.apache.hadoop.yarn.api.records.Resource;
import org.loomcard.yarn.player.context.Asks;
import org.loomcard.yarn.player.context.Scenario;

/** Kinds plain and dag: the tasks of a stage are asked for when the stages before it have ended. */
final class StagedModel implements WorkloadModel {
  private final Scenario.Application application;
  private final TaskTable table;
  private final Asks asks;

  StagedModel(Scenario.Application application, TaskTable table, Asks asks) {
    this.application = application;
    this.table = table;
    this.asks = asks;
  }

  @Override
  public void begin() {
    for (int stage : table.open()) {
      for (int task : table.waiting(stage)) {
        asks.rows(stage).add(application.stages.get(stage).wishes(task));
      }
    }
  }

  @Override
  public Use allocated(int key, String host) {
    Task task = table.take(key, host);
    if (task == null) {
      return null;
    }
    asks.rows(key).remove(application.stages.get(key).wishes(task.index));
    return new Use(task, false);
  }

  @Override
  public void started(Use use) {
    // Its containers end by themselves.
  }

  @Override
  public void ended(Use use, End end) {
    Task task = use.task;
    table.ended(task, end);
    if (end == End.COMPLETED) {
      begin();
    } else if (!table.hasFailed()) {
      asks.rows(task.stage).add(application.stages.get(task.stage).wishes(task.index));
    }
  }

  @Override
  public void heard(Resource headroom, boolean withVcores) {
    // It asks for all at once, whatever the room.
  }

  @Override
  public TaskTable table() {
    return table;
  }
}
