package org.loomcard.yarn.status;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Asks that are not served: how many there are, and the first of each queue. */
public final class WaitingStatus {
  /** Applications with such asks. */
  public final int applications;
  /** Asks, each of one key. */
  public final long asks;
  /** Containers that they want together. */
  public final long containers;
  /** The first asks of each queue, by application, in order of submission. */
  public final List<WaitingApplication> listed;

  /** Sets all fields; the list is copied. */
  public WaitingStatus(int applications, long asks, long containers,
      List<WaitingApplication> listed) {
    this.applications = applications;
    this.asks = asks;
    this.containers = containers;
    this.listed = Collections.unmodifiableList(new ArrayList<>(listed));
  }
}
