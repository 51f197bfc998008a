package org.loomcard.yarn.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.loomcard.yarn.LoomcardScheduler;

/**
 * An AM that asks for all that is allowed (hosts, racks, sizes, a blacklist), again in each call.
 */
final class Greedy {
  private static final int KEYS = 20;
  private static final int ROWS = 500;
  private static final int NAMES = 400;
  private static final int LARGE_MB = 1 << 20;

  private final LoomcardScheduler scheduler;
  private final ApplicationAttemptId attempt;
  private final int number;
  private int turn;
  private int refused;

  Greedy(LoomcardScheduler scheduler, ApplicationAttemptId attempt, int number) {
    this.scheduler = scheduler;
    this.attempt = attempt;
    this.number = number;
  }

  /**
   * Changes one row of each ask and one name of the blacklist, so that all of both must be sent.
   */
  void call() {
    turn++;
    List<ResourceRequest> rows = new ArrayList<>();
    for (int key = 0; key < KEYS; key++) {
      if (turn == 1) {
        for (int host = 0; host < ROWS; host++) {
          rows.add(row("host-" + number + "-" + host + ".a-data-centre.example", key, 1));
        }
        rows.add(row("*", key, ROWS));
      } else {
        rows.add(row("host-" + number + "-0.a-data-centre.example", key, 1 + turn % 2));
      }
    }
    allocate(rows, turn == 1 ? names() : Collections.singletonList("bad-" + turn),
        turn < 3 ? null : Collections.singletonList("bad-" + (turn - 1)));
  }

  private void allocate(List<ResourceRequest> rows, List<String> bad, List<String> good) {
    try {
      scheduler.allocate(attempt, rows, null, new ArrayList<ContainerId>(), bad, good,
          new ContainerUpdates());
    } catch (RuntimeException e) { // the bounds
      refused++;
    }
  }

  int refused() {
    return refused;
  }

  private static List<String> names() {
    String[] names = new String[NAMES];
    for (int i = 0; i < NAMES; i++) {
      names[i] = "bad-host-" + i + ".a-data-centre.example";
    }
    return Arrays.asList(names);
  }

  /** Each key of each AM has a size of its own, too large for any node. */
  private ResourceRequest row(String place, int key, int count) {
    ResourceRequest row = ResourceRequest.newInstance(Priority.newInstance(1), place,
        Resource.newInstance(LARGE_MB + 1024 * (number * KEYS + key), 1), count);
    row.setAllocationRequestId(key);
    return row;
  }
}
