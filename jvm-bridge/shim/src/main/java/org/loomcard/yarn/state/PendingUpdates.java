package org.loomcard.yarn.state;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;

/**
 * The short-lived second containers by which YARN changes the size or the type of a container. Each
 * takes room on the container's node, or gives room back when it goes; that room is the changed
 * container's.
 */
public final class PendingUpdates {
  private static final class Update {
    final ContainerId changed;
    final RMContainer second;

    Update(ContainerId changed, RMContainer second) {
      this.changed = changed;
      this.second = second;
    }
  }

  private final Map<ContainerId, Update> updates = new ConcurrentHashMap<>();

  /** Notes that {@code second} exists to change {@code changed}. */
  public void add(ContainerId changed, RMContainer second) {
    updates.put(second.getContainerId(), new Update(changed, second));
  }

  /**
   * Forgets a second container that is gone; returns the container that it was to change, or null.
   */
  public ContainerId remove(ContainerId second) {
    Update update = updates.remove(second);
    return update == null ? null : update.changed;
  }

  /** Returns the second containers of one container. */
  public List<RMContainer> of(ContainerId changed) {
    List<RMContainer> found = new ArrayList<>();
    if (!updates.isEmpty()) {
      for (Update update : updates.values()) {
        if (update.changed.equals(changed)) {
          found.add(update.second);
        }
      }
    }
    return found;
  }
}
