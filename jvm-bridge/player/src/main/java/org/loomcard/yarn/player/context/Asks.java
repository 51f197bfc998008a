package org.loomcard.yarn.player.context;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;

/** What one application master asks for: the rows of each of its ask keys, in a fixed order. */
public final class Asks {
  private final Topology topology;
  private final List<Key> keys = new ArrayList<>();

  /** One ask key with the size of its containers. */
  private static final class Key {
    final int priority;
    final long requestId;
    final Resource size;
    final AskRows rows;

    Key(int priority, long requestId, Resource size, AskRows rows) {
      this.priority = priority;
      this.requestId = requestId;
      this.size = size;
      this.rows = rows;
    }
  }

  public Asks(Topology topology) {
    this.topology = topology;
  }

  /** Adds a key; it is known by its place from now on, the first is 0. */
  public void addKey(int priority, long requestId, Resource size) {
    keys.add(new Key(priority, requestId, size, new AskRows(topology::rack)));
  }

  public AskRows rows(int key) {
    return keys.get(key).rows;
  }

  public Resource size(int key) {
    return keys.get(key).size;
  }

  /** The key of an allocated container, or -1 for one that was never asked for. */
  public int keyOf(int priority, long requestId) {
    for (int i = 0; i < keys.size(); i++) {
      if (keys.get(i).priority == priority && keys.get(i).requestId == requestId) {
        return i;
      }
    }
    return -1;
  }

  /** How many containers are wanted in all. */
  public int count() {
    return keys.stream().mapToInt(key -> key.rows.count()).sum();
  }

  /** Nothing is wanted any more, and no message is needed. */
  public void forget() {
    keys.clear();
  }

  /** Nothing that was said counts any more: a new attempt says everything again. */
  public void unreported() {
    keys.forEach(key -> key.rows.unreported());
  }

  /** What the ResourceManager must hear of what has changed. */
  public List<ResourceRequest> changes() {
    List<ResourceRequest> requests = new ArrayList<>();
    for (Key key : keys) {
      for (Map.Entry<String, Integer> row : key.rows.changes().entrySet()) {
        requests.add(ResourceRequest.newBuilder()
            .priority(Priority.newInstance(key.priority))
            .allocationRequestId(key.requestId)
            .resourceName(topology.real(row.getKey()))
            .capability(key.size)
            .numContainers(row.getValue())
            .build());
      }
    }
    return requests;
  }
}
