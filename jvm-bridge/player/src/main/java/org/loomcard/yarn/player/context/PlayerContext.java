package org.loomcard.yarn.player.context;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** What all application masters of one player share. */
public final class PlayerContext {
  private final Amounts amounts;
  private final PlayerLog log;
  private final Command command;
  private final HeldContainers held;
  private final ModelProcess models;
  private final long heartbeatMs;
  private final ScheduledExecutorService clock =
      Executors.newSingleThreadScheduledExecutor(PlayerContext::daemon);

  public PlayerContext(Amounts amounts, PlayerLog log, Command command, HeldContainers held,
      ModelProcess models, long heartbeatMs) {
    this.amounts = amounts;
    this.log = log;
    this.command = command;
    this.held = held;
    this.models = models;
    this.heartbeatMs = heartbeatMs;
  }

  public Amounts amounts() {
    return amounts;
  }

  public PlayerLog log() {
    return log;
  }

  public Command command() {
    return command;
  }

  public HeldContainers held() {
    return held;
  }

  public ModelProcess models() {
    return models;
  }

  /** The interval of an application master's heartbeats; 0: whenever there is something to say. */
  public long heartbeatMs() {
    return heartbeatMs;
  }

  /** Runs something later, on another thread; it must be short. */
  public void after(long ms, Runnable what) {
    clock.schedule(what, Math.max(0, ms), TimeUnit.MILLISECONDS);
  }

  public static Thread daemon(Runnable what) {
    Thread thread = new Thread(what);
    thread.setDaemon(true);
    return thread;
  }
}
