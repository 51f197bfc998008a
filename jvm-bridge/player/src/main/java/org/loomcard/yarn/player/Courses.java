package org.loomcard.yarn.player;

/** Makes the course of an application of any kind, with its ask keys. */
final class Courses {
  private Courses() {
  }

  static Course of(Scenario.Application application, Surroundings around, Asks asks,
      Course.Master master) {
    Topology topology = around.topology();
    TaskBook book = new TaskBook(application, topology::rack);
    if (application.kind.equals("spark") && application.executors != null) {
      asks.addKey(20, 0, topology.resource(application.executors.size));
      return new ExecutorCourse(application, book, asks, master, topology);
    }
    for (Scenario.Stage stage : application.stages) {
      asks.addKey(stage.priority, stage.requestId, topology.resource(stage.size));
    }
    if (application.kind.equals("mapreduce") && application.stages.size() == 2) {
      return new MapReduceCourse(application, book, asks, master);
    }
    return new StagedCourse(application, book, asks);
  }
}
