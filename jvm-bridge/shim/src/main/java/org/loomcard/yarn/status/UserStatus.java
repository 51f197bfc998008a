package org.loomcard.yarn.status;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** What one user has in a leaf queue; resources are amounts by name. */
public final class UserStatus {
  public final String user;
  public final Map<String, Long> used;
  /** Applications with containers. */
  public final int active;
  /** Applications that wait for their first container. */
  public final int pending;

  /** Sets all fields; the map is copied. */
  public UserStatus(String user, Map<String, Long> used, int active, int pending) {
    this.user = user;
    this.used = Collections.unmodifiableMap(new LinkedHashMap<>(used));
    this.active = active;
    this.pending = pending;
  }
}
