package org.loomcard.yarn.rounds;

/**
 * Rounds that were refused and allocated nothing: each is followed by a pause, twice as long as the
 * one before, since the same decision at once would be refused again. After a number of them
 * in a row the mirror may be what is wrong, and is rebuilt.
 */
public final class RefusalBackoff {
  private static final long FIRST_MS = 10;
  private static final long LONGEST_MS = 2000;
  private final int rebuildAfter;
  private int inARow;
  private int nextRebuild;
  private long pauseMs;
  private long untilMs;

  public RefusalBackoff(int rebuildAfter) {
    this.rebuildAfter = rebuildAfter;
    clear();
  }

  /** A round brought something, or nothing was refused. */
  public void clear() {
    inARow = 0;
    nextRebuild = rebuildAfter;
    pauseMs = FIRST_MS;
    untilMs = 0;
  }

  /**
   * A round was refused and allocated nothing.
   *
   * @return whether the mirror should be rebuilt: after so many, then after twice as many
   */
  public boolean add(long nowMs) {
    untilMs = nowMs + pauseMs;
    pauseMs = Math.min(LONGEST_MS, 2 * pauseMs);
    if (++inARow < nextRebuild) {
      return false;
    }
    nextRebuild *= 2;
    return true;
  }

  public int inARow() {
    return inARow;
  }

  /** Until then refusals alone are no reason for a round. */
  public long untilMs() {
    return untilMs;
  }
}
