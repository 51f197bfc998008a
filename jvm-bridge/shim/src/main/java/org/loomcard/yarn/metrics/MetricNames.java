package org.loomcard.yarn.metrics;

import java.util.Locale;

/** Names in the form of Hadoop's metrics. */
final class MetricNames {
  private MetricNames() {
  }

  /** Writes {@code NODE_FULL} and {@code node_full} as {@code NodeFull}. */
  static String camel(String name) {
    StringBuilder camel = new StringBuilder();
    for (String word : name.toLowerCase(Locale.ROOT).split("_")) {
      camel.append(word.isEmpty() ? "" : word.substring(0, 1).toUpperCase(Locale.ROOT)
          + word.substring(1));
    }
    return camel.toString();
  }
}
