package org.loomcard.yarn.wire;

import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** The fields of the record {@code ask}: the whole present state of one ask. */
public final class AskRecord {
  public final int attempt;
  public final int priority;
  public final long allocationRequestId;
  public final boolean isAm;
  /** Amounts in the order of the handshake's resource types. */
  public final long[] size;
  /** Containers outstanding; 0: the ask has ended. */
  public final int count;
  public final Map<String, Integer> hosts;
  public final Map<String, Integer> racks;
  /** Racks in which only the named hosts are allowed. */
  public final Collection<String> strictRacks;
  public final boolean relaxLocality;
  public final String label;

  public AskRecord(int attempt, int priority, long allocationRequestId, boolean isAm, long[] size,
      int count, Rows rows, boolean relaxLocality, String label) {
    this.attempt = attempt;
    this.priority = priority;
    this.allocationRequestId = allocationRequestId;
    this.isAm = isAm;
    this.size = size;
    this.count = count;
    this.hosts = rows.hosts;
    this.racks = rows.racks;
    this.strictRacks = rows.strictRacks;
    this.relaxLocality = relaxLocality;
    this.label = label;
  }

  /** The counts of an ask for hosts and racks, in the order of their names. */
  public static final class Rows {
    Map<String, Integer> hosts = Collections.emptyMap();
    Map<String, Integer> racks = Collections.emptyMap();
    Collection<String> strictRacks = Collections.emptyList();

    /** Adds a host, to which {@code count} containers may go. */
    public Rows host(String name, int count) {
      hosts = hosts.isEmpty() ? new TreeMap<>() : hosts;
      hosts.put(name, count);
      return this;
    }

    /** @param relaxed whether other hosts of the rack than the named ones will do */
    public Rows rack(String name, int count, boolean relaxed) {
      racks = racks.isEmpty() ? new TreeMap<>() : racks;
      racks.put(name, count);
      if (!relaxed) {
        strictRacks = strictRacks.isEmpty() ? new TreeSet<>() : strictRacks;
        strictRacks.add(name);
      }
      return this;
    }
  }
}
