package org.loomcard.yarn.state;

import java.nio.LongBuffer;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.wire.AskRecord;

/**
 * The rows of one attempt's asks; YARN keeps one for each host, rack and {@code *} named. What a
 * row costs is text, so a row counts once for each {@value #CHARACTERS} characters, begun, of its
 * name.
 */
public final class AskRows {
  private static final int CHARACTERS = 64;
  private final LoomcardAttempt attempt;
  /**
   * At least the number of rows that come from the AM. It spares the heartbeats of ordinary AMs a
   * count.
   */
  private final AtomicLong bound = new AtomicLong();
  /**
   * Asks that were allocated in full; YARN still keeps their hosts, which are of no use any more.
   */
  private final Set<SchedulerRequestKey> served = ConcurrentHashMap.newKeySet();
  private final AskSizes sizes = new AskSizes();

  AskRows(LoomcardAttempt attempt) {
    this.attempt = attempt;
  }

  /** Returns as how many rows a row with this name counts. */
  public static int weight(String name) {
    return 1 + Math.max(0, name.length() - 1) / CHARACTERS;
  }

  /** Returns as how many rows the rows with these names count. */
  public static int weight(Iterable<String> names) {
    int sum = 0;
    for (String name : names) {
      sum += weight(name);
    }
    return sum;
  }

  /** Returns as how many rows these rows count. */
  public static long weightOf(Iterable<ResourceRequest> rows) {
    long sum = 0;
    for (ResourceRequest row : rows) {
      sum += weight(row.getResourceName());
    }
    return sum;
  }

  /** Returns the number of all rows, or a greater one that is not above {@code enough}. */
  public long atMost(long enough) {
    long before = bound.get();
    if (before <= enough) {
      return before;
    }
    long counted =
        weightOf(attempt.getAppSchedulingInfo().getAllResourceRequests()) - ofYarn();
    bound.addAndGet(counted - before); // rows may have been added in between
    return counted;
  }

  /** Takes these sizes. Returns false, and takes none, when the attempt would have too many. */
  public boolean takeSizes(Set<LongBuffer> coming, int most) {
    return sizes.take(coming, most, this::sizes);
  }

  /** Returns the sizes of all outstanding asks. */
  Set<LongBuffer> sizes() {
    Set<LongBuffer> present = new HashSet<>();
    for (SchedulerRequestKey key : attempt.getSchedulerKeys()) {
      ResourceRequest any = HadoopCalls.rows(attempt, key).get(ResourceRequest.ANY);
      if (any != null && any.getNumContainers() > 0 && key.getContainerToUpdate() == null) {
        present.add(LongBuffer.wrap(Amounts.of(any.getCapability())));
      }
    }
    return present;
  }

  /** Counts the rows by which YARN makes containers grow: the AM names no hosts in them. */
  private long ofYarn() {
    long rows = 0;
    for (SchedulerRequestKey key : attempt.getSchedulerKeys()) {
      if (key.getContainerToUpdate() != null) {
        rows += weightOf(HadoopCalls.rows(attempt, key).values());
      }
    }
    return rows;
  }

  /** Counts rows that are about to be added or to replace others. */
  void coming(List<ResourceRequest> rows) {
    bound.addAndGet(weightOf(rows));
    for (ResourceRequest row : rows) {
      served.remove(SchedulerRequestKey.create(row));
    }
  }

  /** Notes that a container of this ask was allocated. */
  public void allocated(SchedulerRequestKey key) {
    if (key.getContainerToUpdate() == null && attempt.getOutstandingAsksCount(key) <= 0
        && !HadoopCalls.rows(attempt, key).isEmpty()) {
      served.add(key);
    }
  }

  /**
   * Drops the hosts and racks that the AM took back. YARN keeps a row of 0 containers, though it
   * means the same as no row. Such rows would add up over the life of an attempt.
   */
  void dropEmpty(List<ResourceRequest> asks) {
    for (ResourceRequest ask : asks) {
      String name = ask.getResourceName();
      if (ask.getNumContainers() <= 0 && !name.equals(ResourceRequest.ANY)) {
        Map<String, ResourceRequest> rows =
            HadoopCalls.rows(attempt, SchedulerRequestKey.create(ask));
        if (!rows.isEmpty()) { // otherwise YARN dropped the whole ask and its map
          rows.computeIfPresent(name, (same, row) -> row.getNumContainers() > 0 ? row : null);
        }
      }
    }
  }

  /**
   * Drops the hosts and racks of asks that were allocated in full. YARN keeps them. An AM that uses
   * a new key for each container and takes no row back would reach the limit.
   */
  public void dropServed() {
    for (SchedulerRequestKey key : served) {
      served.remove(key);
      attempt.dropServed(key);
    }
  }

  /** Returns the rows of one ask for hosts and racks, as the policy gets them. */
  static AskRecord.Rows hostsAndRacks(Map<String, ResourceRequest> rows) {
    AskRecord.Rows places = new AskRecord.Rows();
    for (ResourceRequest row : rows.values()) {
      String name = row.getResourceName();
      if (row.getNumContainers() <= 0 || name.equals(ResourceRequest.ANY)) {
        continue;
      }
      if (name.startsWith("/")) {
        places.rack(name, row.getNumContainers(), row.getRelaxLocality());
      } else {
        places.host(name, row.getNumContainers());
      }
    }
    return places;
  }
}
