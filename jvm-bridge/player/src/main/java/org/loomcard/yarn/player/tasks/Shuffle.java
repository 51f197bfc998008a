package org.loomcard.yarn.player.tasks;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * How long a reduce copies: each finished map's output takes so long, one after another, as the
 * maps finish.
 */
final class Shuffle {
  private final long msPerMap;
  private final int maps;
  private final List<Long> finishedMs = new ArrayList<>();

  Shuffle(long msPerMap, int maps) {
    this.msPerMap = msPerMap;
    this.maps = maps;
  }

  void mapFinished(long atMs) {
    finishedMs.add(atMs);
    Collections.sort(finishedMs);
  }

  /** Whether every map has finished, so that the end of copying is known. */
  boolean isComplete() {
    return finishedMs.size() == maps;
  }

  /** When a reduce that began then has copied what is there. */
  long copiedMs(long beganMs) {
    long at = beganMs;
    for (long finished : finishedMs) {
      at = Math.max(at, finished) + msPerMap;
    }
    return at;
  }
}
