package org.loomcard.yarn.status;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An application with asks that are not served. */
public final class WaitingApplication {
  /** The id as YARN writes it, {@code application_..._0001}. */
  public final String id;
  public final String name;
  public final String user;
  public final String queue;
  public final List<WaitingAsk> asks;

  /** Sets all fields; the list is copied. */
  public WaitingApplication(String id, String name, String user, String queue,
      List<WaitingAsk> asks) {
    this.id = id;
    this.name = name;
    this.user = user;
    this.queue = queue;
    this.asks = Collections.unmodifiableList(new ArrayList<>(asks));
  }

  /** One ask of the application. */
  public static final class WaitingAsk {
    public final int priority;
    public final long allocationRequestId;
    /** Containers still wanted. */
    public final int count;
    /** The resource of one container. */
    public final Map<String, Long> resource;
    /** The policy's own reason, a code of docs/reference/wire.md; null when it gave none. */
    public final String reason;
    /** Until when a rule of the policy keeps it waiting, in ms since 1970; null: no rule does. */
    public final Long untilMs;

    /** Sets all fields; the map is copied. */
    public WaitingAsk(int priority, long allocationRequestId, int count,
        Map<String, Long> resource, String reason, Long untilMs) {
      this.priority = priority;
      this.allocationRequestId = allocationRequestId;
      this.count = count;
      this.resource = Collections.unmodifiableMap(new LinkedHashMap<>(resource));
      this.reason = reason;
      this.untilMs = untilMs;
    }
  }
}
