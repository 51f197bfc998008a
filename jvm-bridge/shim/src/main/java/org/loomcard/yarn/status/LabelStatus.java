package org.loomcard.yarn.status;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** The use and limits of a queue on the nodes of one label; resources are amounts by name. */
public final class LabelStatus {
  /** Null: none is stated here. */
  public final Map<String, Long> guaranteed;
  public final Map<String, Long> used;
  /** The part of {@link #used} that is used for asks that name no label. */
  public final Map<String, Long> lent;
  /** Null: none is stated here. */
  public final Map<String, Long> maximum;
  /** What is asked for with this label. */
  public final Map<String, Long> pending;
  public final Map<String, Long> reserved;

  /** Sets all fields; the maps are copied. */
  public LabelStatus(Map<String, Long> guaranteed, Map<String, Long> used, Map<String, Long> lent,
      Map<String, Long> maximum, Map<String, Long> pending, Map<String, Long> reserved) {
    this.guaranteed = copy(guaranteed);
    this.used = copy(used);
    this.lent = copy(lent);
    this.maximum = copy(maximum);
    this.pending = copy(pending);
    this.reserved = copy(reserved);
  }

  private static Map<String, Long> copy(Map<String, Long> amounts) {
    return amounts == null ? null : Collections.unmodifiableMap(new LinkedHashMap<>(amounts));
  }
}
