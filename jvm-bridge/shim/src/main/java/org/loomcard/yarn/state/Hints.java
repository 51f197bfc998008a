package org.loomcard.yarn.state;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * What an application states for the policy, and nothing else of its submission: an AM's
 * environment holds secrets, and hints reach journals. Taken are the variable LOOMCARD_DAG, and
 * scheduling properties of that name or with names that begin with {@code loomcard.}; of the two
 * LOOMCARD_DAG the variable counts.
 */
public final class Hints {
  /** Characters of all hints of an application together; what goes beyond is left out. */
  static final int MOST_CHARACTERS = 256 * 1024;
  private static final String DAG = "LOOMCARD_DAG";
  private static final String PREFIX = "loomcard.";

  private Hints() {
  }

  /**
   * @param environment the AM's; may be null
   * @param properties the submission's scheduling properties
   */
  public static Map<String, String> of(Map<String, String> environment, Map<String,
      String> properties) {
    Map<String, String> wanted = new TreeMap<>();
    properties.forEach((name, value) -> {
      if (name.startsWith(PREFIX) || name.equals(DAG)) {
        wanted.put(name, value);
      }
    });
    String dag = environment == null ? null : environment.get(DAG);
    if (dag != null) {
      wanted.put(DAG, dag);
    }
    return bounded(wanted);
  }

  /** Returns whole hints only, by name, as many as fit. */
  private static Map<String, String> bounded(Map<String, String> wanted) {
    if (wanted.isEmpty()) {
      return Collections.emptyMap();
    }
    Map<String, String> hints = new HashMap<>();
    int left = MOST_CHARACTERS;
    for (Map.Entry<String, String> hint : wanted.entrySet()) {
      String value = hint.getValue();
      int length = hint.getKey().length() + (value == null ? 0 : value.length());
      if (value != null && length <= left) {
        hints.put(hint.getKey(), value);
        left -= length;
      }
    }
    return hints;
  }
}
