package org.loomcard.yarn.player.tasks;

import org.apache.hadoop.yarn.api.records.Container;

/** What one allocated container is used for. */
public final class Use {
  static final long NOT_YET = -1;

  /** The task that runs in it; null: an executor, which runs many. */
  public final Task task;
  /** Whether the application master decides when it ends; otherwise its length is known. */
  public final boolean held;
  /** Set once by the application master. */
  public Container container;
  /** What the scenario calls its node; set with the container. */
  public String host;
  /** When the application master began to start it, or NOT_YET. */
  public long launchedMs = NOT_YET;

  Use(Task task, boolean held) {
    this.task = task;
    this.held = held;
  }
}
