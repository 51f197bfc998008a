package org.loomcard.yarn.status;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** What one user has in a leaf queue; resources are amounts by name. */
public final class UserStatus {
  public final String user;
  public final Map<String, Long> used;
  /** What of it their AMs use. */
  public final Map<String, Long> usedByAms;
  /** Applications whose AM runs. */
  public final int active;
  /** Applications that wait for the container of their AM. */
  public final int pending;
  /** Whether one of their applications waits for a container. */
  public final boolean waits;

  /** Sets all fields; the maps are copied. */
  public UserStatus(String user, Map<String, Long> used, Map<String, Long> usedByAms, int active,
      int pending, boolean waits) {
    this.user = user;
    this.used = Collections.unmodifiableMap(new LinkedHashMap<>(used));
    this.usedByAms = Collections.unmodifiableMap(new LinkedHashMap<>(usedByAms));
    this.active = active;
    this.pending = pending;
    this.waits = waits;
  }
}
