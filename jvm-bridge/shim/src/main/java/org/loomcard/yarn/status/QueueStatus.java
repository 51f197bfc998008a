package org.loomcard.yarn.status;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** What a queue uses now; resources are amounts by name. */
public final class QueueStatus {
  public final Map<String, Long> guaranteed;
  /** A resource that is not limited is left out. */
  public final Map<String, Long> maximum;
  public final Map<String, Long> used;
  /** What is asked for and not served. */
  public final Demand pending;
  /** What is reserved on nodes for asks. */
  public final Demand reserved;
  /** Live applications, including those of queues below. */
  public final int applications;
  /** Live containers, including those of queues below. */
  public final int containers;
  public final QueueLimitStatus state;

  /** Sets all fields; the maps are copied. */
  public QueueStatus(Map<String, Long> guaranteed, Map<String, Long> maximum,
      Map<String, Long> used, Demand pending, Demand reserved, int applications, int containers,
      QueueLimitStatus state) {
    this.state = state;
    this.guaranteed = copy(guaranteed);
    this.maximum = copy(maximum);
    this.used = copy(used);
    this.pending = pending;
    this.reserved = reserved;
    this.applications = applications;
    this.containers = containers;
  }

  /** Containers that are not there yet, in a queue and below. */
  public static final class Demand {
    public final Map<String, Long> amounts;
    public final int containers;

    public Demand(Map<String, Long> amounts, int containers) {
      this.amounts = copy(amounts);
      this.containers = containers;
    }
  }

  private static Map<String, Long> copy(Map<String, Long> amounts) {
    return Collections.unmodifiableMap(new LinkedHashMap<>(amounts));
  }
}
