package org.loomcard.yarn.player;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** What all application masters of one player share. */
final class Surroundings {
  private final Topology topology;
  private final PlayerLog log;
  private final Command command;
  private final HeldContainers held;
  private final long heartbeatMs;
  private final ScheduledExecutorService clock =
      Executors.newSingleThreadScheduledExecutor(Surroundings::daemon);

  Surroundings(Topology topology, PlayerLog log, Command command, HeldContainers held,
      long heartbeatMs) {
    this.topology = topology;
    this.log = log;
    this.command = command;
    this.held = held;
    this.heartbeatMs = heartbeatMs;
  }

  Topology topology() {
    return topology;
  }

  PlayerLog log() {
    return log;
  }

  Command command() {
    return command;
  }

  HeldContainers held() {
    return held;
  }

  /** How often an application master speaks; 0: as often as there is something to say. */
  long heartbeatMs() {
    return heartbeatMs;
  }

  /** Runs something later, on another thread; it must be short. */
  void after(long ms, Runnable what) {
    clock.schedule(what, Math.max(0, ms), TimeUnit.MILLISECONDS);
  }

  static Thread daemon(Runnable what) {
    Thread thread = new Thread(what);
    thread.setDaemon(true);
    return thread;
  }
}
