package org.loomcard.yarn.bridge;

import java.util.Map;
import java.util.TreeMap;

/** The fields of the record {@code ask}: the whole present state of one ask. */
public final class AskText {
  public final int attempt;
  public final int priority;
  public final long allocationRequestId;
  public final boolean isAm;
  /** Amounts in the order of the handshake's resource types. */
  public final long[] size;
  /** Containers outstanding; 0: the ask is gone. */
  public final int count;
  public final Map<String, Integer> hosts;
  /** Only racks where rack-local placement is allowed. */
  public final Map<String, Integer> racks;
  public final boolean relaxLocality;
  public final String label;

  /** All fields in the order of the wire. */
  public AskText(int attempt, int priority, long allocationRequestId, boolean isAm, long[] size,
      int count,
      Map<String, Integer> hosts, Map<String, Integer> racks, boolean relaxLocality, String label) {
    this.attempt = attempt;
    this.priority = priority;
    this.allocationRequestId = allocationRequestId;
    this.isAm = isAm;
    this.size = size;
    this.count = count;
    this.hosts = hosts.size() > 1 ? new TreeMap<>(hosts) : hosts;
    this.racks = racks.size() > 1 ? new TreeMap<>(racks) : racks;
    this.relaxLocality = relaxLocality;
    this.label = label;
  }
}
