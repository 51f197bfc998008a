package org.loomcard.yarn.chaos;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.LoomcardScheduler;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;

/** The whole state of the scheduler, as plain maps; sizes are lists of memory in MB and vcores. */
final class SchedulerState {
  private final LoomcardScheduler scheduler;
  private final RMContext context;

  SchedulerState(LoomcardScheduler scheduler, RMContext context) {
    this.scheduler = scheduler;
    this.context = context;
  }

  Map<String, Object> read() {
    Map<String, Object> state = new LinkedHashMap<>();
    state.put("nodes", nodes());
    state.put("applications", applications());
    state.put("containers", containers());
    Map<String, Object> queues = new TreeMap<>();
    readQueue(scheduler.queues().root(), queues);
    state.put("queues", queues);
    return state;
  }

  private Map<String, Object> nodes() {
    Map<String, Object> nodes = new TreeMap<>();
    for (LoomcardNode node : scheduler.cluster().nodes()) {
      Map<String, Object> facts = new LinkedHashMap<>();
      facts.put("capacity", size(node.getTotalResource()));
      facts.put("free", size(node.getUnallocatedResource()));
      facts.put("label", node.getPartition());
      facts.put("shared", node.isShared());
      TreeSet<String> held = new TreeSet<>();
      for (RMContainer container : node.getCopiedListOfRunningContainers()) {
        held.add(container.getContainerId().toString());
      }
      facts.put("containers", held);
      nodes.put(node.getNodeID().toString(), facts);
    }
    return nodes;
  }

  private Map<String, Object> applications() {
    Map<String, Object> applications = new TreeMap<>();
    scheduler.getSchedulerApplications().forEach((id, application) -> {
      LoomcardAttempt attempt = application.getCurrentAppAttempt();
      if (attempt != null) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("queue", attempt.loomcardQueue().path());
        facts.put("user", attempt.getUser());
        facts.put("pending", attempt.isStopped() ? 0 : pending(attempt));
        applications.put(id.toString(), facts);
      }
    });
    return applications;
  }

  private static int pending(LoomcardAttempt attempt) {
    int pending = 0;
    for (SchedulerRequestKey key : attempt.getSchedulerKeys()) {
      if (key.getContainerToUpdate() == null) {
        pending += Math.max(0, attempt.getOutstandingAsksCount(key));
      }
    }
    return pending;
  }

  private Map<String, Object> containers() {
    Map<String, Object> containers = new TreeMap<>();
    scheduler.getSchedulerApplications().forEach((id, application) -> {
      LoomcardAttempt attempt = application.getCurrentAppAttempt();
      if (attempt != null) {
        for (RMContainer container : attempt.getLiveContainers()) {
          Map<String, Object> facts = new LinkedHashMap<>();
          facts.put("application", id.toString());
          facts.put("number", container.getContainerId().getContainerId());
          facts.put("node", container.getContainer().getNodeId().toString());
          facts.put("size", size(container.getContainer().getResource()));
          facts.put("state", container.getState().toString());
          containers.put(container.getContainerId().toString(), facts);
        }
      }
    });
    return containers;
  }

  private void readQueue(LoomcardQueue queue, Map<String, Object> queues) {
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("used", queue.used());
    facts.put("used_by_masters", queue.usedByAms());
    facts.put("containers", queue.containers());
    Map<String, Object> users = new TreeMap<>();
    scheduler.getSchedulerApplications().values().forEach(application ->
        users.put(application.getUser(), queue.usedBy(application.getUser())));
    facts.put("users", users);
    queues.put(queue.path(), facts);
    for (LoomcardQueue child : queue.children()) {
      readQueue(child, queues);
    }
  }

  /** Returns how each application ended, if the ResourceManager still remembers it. */
  Map<String, Object> ends() {
    Map<String, Object> ends = new TreeMap<>();
    for (Map.Entry<ApplicationId, RMApp> each : context.getRMApps().entrySet()) {
      ends.put(each.getKey().toString(), Arrays.asList(each.getValue().getState().toString(),
          each.getValue().getFinalApplicationStatus().toString(), each.getValue().getName()));
    }
    return ends;
  }

  private static long[] size(Resource resource) {
    return new long[] {resource.getMemorySize(), resource.getVirtualCores()};
  }
}
