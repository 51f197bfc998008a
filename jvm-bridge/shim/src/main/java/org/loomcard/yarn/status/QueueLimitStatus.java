package org.loomcard.yarn.status;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** The state of a queue, what it is entitled to, and how far its limits are used. */
public final class QueueLimitStatus {
  /** {@code running}, {@code draining} or {@code stopped}. */
  public final String name;
  /** What it would have now if the cluster were divided again; amounts by name. */
  public final Map<String, Long> entitlement;
  public final Map<String, Long> usedByAms;
  /** Live applications of some users, if their number is limited; otherwise empty. */
  public final Map<String, Integer> applicationsByUser;
  /** By node label, for labels where it uses something or a maximum is stated. */
  public final Map<String, LabelStatus> labels;

  /** Sets all fields; the maps are copied. */
  public QueueLimitStatus(String name, Map<String, Long> entitlement, Map<String, Long> usedByAms,
      Map<String, Integer> applicationsByUser, Map<String, LabelStatus> labels) {
    this.name = name;
    this.entitlement = copy(entitlement);
    this.usedByAms = copy(usedByAms);
    this.applicationsByUser = copy(applicationsByUser);
    this.labels = copy(labels);
  }

  private static <T> Map<String, T> copy(Map<String, T> map) {
    return Collections.unmodifiableMap(new LinkedHashMap<>(map));
  }
}
