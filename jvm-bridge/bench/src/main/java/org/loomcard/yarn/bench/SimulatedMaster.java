package org.loomcard.yarn.bench;

import java.security.PrivilegedExceptionAction;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.ApplicationMasterService;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;

/** An unmanaged application master that talks to the RM's own ApplicationMasterService. */
final class SimulatedMaster {
  static final long NOT_TIMED = -1;
  /** MapReduce's AM asks for maps and reduces at these priorities. */
  private static final int MAP = 20;
  private static final int REDUCE = 10;
  private static final int PRIORITY = 1;

  private final ApplicationMasterService service;
  private final ApplicationAttemptId attempt;
  private final UserGroupInformation user;
  private final NodeDriver nodes;
  private final Resource size;
  private final int reduceEvery;
  private int asks;
  /** Pairs (time of the ask, containers of it not yet allocated), oldest first. */
  private final ArrayDeque<long[]> waiting = new ArrayDeque<>();
  private int responseId;

  SimulatedMaster(ApplicationMasterService service, RMAppAttempt rmAttempt, NodeDriver nodes,
      int vcores, int reduceEvery) throws Exception {
    this.service = service;
    this.attempt = rmAttempt.getAppAttemptId();
    this.nodes = nodes;
    this.size = Resource.newInstance(BenchmarkSettings.MEMORY_MB_PER_SLOT, vcores);
    this.reduceEvery = reduceEvery;
    user = UserGroupInformation.createRemoteUser(attempt.toString());
    user.addTokenIdentifier(rmAttempt.getAMRMToken().decodeIdentifier());
  }

  ApplicationAttemptId attempt() {
    return attempt;
  }

  void register() throws Exception {
    as(() -> service.registerApplicationMaster(
        RegisterApplicationMasterRequest.newInstance("", 1, "")));
  }

  /**
   * Asks for {@code count} containers in all, whatever it asked before; takes what is allocated.
   */
  void askInAll(int count) throws Exception {
    synchronized (waiting) {
      waiting.clear();
    }
    allocate(count);
  }

  /** Asks for {@code more} containers in addition to those it waits for, and times them. */
  void askMore(int more) throws Exception {
    int inAll = 0;
    synchronized (waiting) {
      waiting.add(new long[] {System.nanoTime(), more});
      for (long[] ask : waiting) {
        inAll += (int) ask[1];
      }
    }
    allocate(inAll);
  }

  /** Returns when the oldest waiting container was requested, and counts it as allocated. */
  long takeAskTime() {
    synchronized (waiting) {
      long[] oldest = waiting.peek();
      if (oldest == null) {
        return NOT_TIMED;
      }
      if (--oldest[1] == 0) {
        waiting.poll();
      }
      return oldest[0];
    }
  }

  private void allocate(int count) throws Exception {
    List<ResourceRequest> rows = new ArrayList<>();
    rows.add(row(reduceEvery == 0 ? PRIORITY : MAP, count));
    if (reduceEvery > 0 && ++asks % reduceEvery == 0) {
      rows.add(row(REDUCE, 1)); // not timed: a rule may keep it waiting for maps
    }
    AllocateRequest request = AllocateRequest.newInstance(
        responseId, 0.5f, rows, Collections.emptyList(), null);
    AllocateResponse response = as(() -> service.allocate(request));
    responseId = response.getResponseId();
    for (Container container : response.getAllocatedContainers()) {
      nodes.node(container.getNodeId()).launch(container.getId());
    }
  }

  private ResourceRequest row(int priority, int count) {
    return ResourceRequest.newInstance(Priority.newInstance(priority), ResourceRequest.ANY, size,
        count);
  }

  private <T> T as(PrivilegedExceptionAction<T> action) throws Exception {
    return user.doAs(action);
  }
}
