package org.loomcard.yarn.player.tasks;

/** One try of one task: what an allocated container is used for. */
public final class Task {
  final int stage;
  public final int index;
  /** Which try this is, from 1. */
  public final int attempt;
  /** How long the container runs, unless the application master ends it. */
  public final long runMs;
  /** Whether the container exits with a failure after that time. */
  public final boolean fails;

  Task(int stage, int index, int attempt, long runMs, boolean fails) {
    this.stage = stage;
    this.index = index;
    this.attempt = attempt;
    this.runMs = runMs;
    this.fails = fails;
  }
}
