package org.loomcard.yarn.rounds;

/**
 * Pauses after rounds that were refused and allocated nothing. Each pause is twice as long as the
 * one before, since the same decision at once would be refused again. After a number of such rounds
 * in a row the mirror may be wrong, and is rebuilt.
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

  /** Forgets refused rounds: a round allocated something, or nothing was refused. */
  public void clear() {
    inARow = 0;
    nextRebuild = rebuildAfter;
    pauseMs = FIRST_MS;
    untilMs = 0;
  }

  /**
   * Adds a round that was refused and allocated nothing.
   *
   * @return whether the mirror should be rebuilt: after so many rounds, then after twice as many
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

  /** The time until which refusals alone are no reason for a round. */
  public long untilMs() {
    return untilMs;
  }
}
