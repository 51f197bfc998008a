package org.loomcard.yarn.chaos.load;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;

/**
 * A number of containers of one size, under a key that is used once. The count is sent once and
 * only goes down, so that an allocation beyond it is one too many, not a race between two counts.
 */
final class Ask {
  final long key;
  final int priority;
  final Resource size;
  /** The only host that is accepted; null for any host. */
  final String strictHost;
  int outstanding;
  boolean cancelled;

  Ask(long key, int priority, Resource size, int count, String strictHost) {
    this.key = key;
    this.priority = priority;
    this.size = size;
    this.outstanding = count;
    this.strictHost = strictHost;
  }

  /** Returns what is still wanted, as rows of an allocate call. */
  List<ResourceRequest> rows() {
    List<ResourceRequest> rows = new ArrayList<>();
    int count = cancelled ? 0 : outstanding;
    if (strictHost != null) {
      rows.add(row(strictHost, count, true));
    }
    rows.add(row(ResourceRequest.ANY, count, strictHost == null));
    return rows;
  }

  private ResourceRequest row(String place, int count, boolean relax) {
    ResourceRequest row = ResourceRequest.newInstance(Priority.newInstance(priority), place, size,
        count, relax);
    row.setAllocationRequestId(key);
    return row;
  }
}
