package org.loomcard.yarn.web;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** What a queue holds and may hold on the nodes of one label; resources are amounts by name. */
public final class ShownLabel {
  public final Map<String, Long> used;
  /** Null: none is stated here. */
  public final Map<String, Long> maximum;

  /** Both fields; the maps are copied. */
  public ShownLabel(Map<String, Long> used, Map<String, Long> maximum) {
    this.used = Collections.unmodifiableMap(new LinkedHashMap<>(used));
    this.maximum = maximum == null ? null
        : Collections.unmodifiableMap(new LinkedHashMap<>(maximum));
  }
}
