package org.loomcard.yarn.state;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;

/**
 * Limits how much the live applications of one user may state together. Each snapshot repeats all
 * hints: without a limit a user with many applications could make every snapshot too large to send.
 */
public final class HintBudget {
  /** Characters of all hints of a user's live applications together. */
  static final int MOST_OF_A_USER = 32 * 1024 * 1024;
  private final Map<String, Integer> used = new HashMap<>();

  /**
   * Counts these hints for the user and returns them; returns no hints if they would exceed the
   * limit.
   */
  public synchronized Map<String, String> take(String user, Map<String, String> hints) {
    int total = used.getOrDefault(user, 0) + characters(hints);
    if (hints.isEmpty() || total > MOST_OF_A_USER) {
      return Collections.emptyMap();
    }
    used.put(user, total);
    return hints;
  }

  /** Subtracts the hints of an application that is gone. */
  public synchronized void giveBack(String user, Map<String, String> hints) {
    if (!hints.isEmpty()) {
      int size = characters(hints);
      used.computeIfPresent(user, (name, total) -> total > size ? total - size : null);
    }
  }

  private static int characters(Map<String, String> hints) {
    return hints.entrySet().stream()
        .mapToInt(hint -> hint.getKey().length() + hint.getValue().length()).sum();
  }
}
