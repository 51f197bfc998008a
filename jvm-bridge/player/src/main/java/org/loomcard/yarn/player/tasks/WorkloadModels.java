package org.loomcard.yarn.player.tasks;

import org.loomcard.yarn.player.context.Asks;
import org.loomcard.yarn.player.context.PlayerContext;
import org.loomcard.yarn.player.context.Scenario;
import org.loomcard.yarn.player.context.Topology;

/** Makes the model of an application of any kind, with its ask keys. */
public final class WorkloadModels {
  private WorkloadModels() {
  }

  public static WorkloadModel of(Scenario.Application application, PlayerContext context, Asks asks,
      WorkloadModel.Master master) {
    Topology topology = context.topology();
    TaskTable table = new TaskTable(application, topology::rack);
    if (application.kind.equals("spark") && application.executors != null) {
      asks.addKey(20, 0, topology.resource(application.executors.size));
      return new ExecutorModel(application, table, asks, master, topology);
    }
    if (application.asks.equals("altruistic")) {
      return new AltruisticModel(application, table, asks, topology, context.planner());
    }
    for (Scenario.Stage stage : application.stages) {
      asks.addKey(stage.priority, stage.requestId, topology.resource(stage.size));
    }
    if (application.kind.equals("mapreduce") && application.stages.size() == 2) {
      return new MapReduceModel(application, table, asks, master);
    }
    return new StagedModel(application, table, asks);
  }
}
