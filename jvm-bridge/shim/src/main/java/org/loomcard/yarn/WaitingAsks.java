package org.loomcard.yarn;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.rounds.WaitReasons;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.status.WaitingApplication;
import org.loomcard.yarn.status.WaitingApplication.WaitingAsk;
import org.loomcard.yarn.status.WaitingStatus;
import org.loomcard.yarn.wire.PlanMessage;

/**
 * Counts all outstanding asks and lists the first of each queue, so that the document stays small
 * when one user has a million asks.
 */
final class WaitingAsks {
  private final RMContext context;
  private final int limit;
  private final Map<LoomcardQueue, Integer> listed = new HashMap<>();
  private final Map<LoomcardAttempt, List<SchedulerRequestKey>> first = new LinkedHashMap<>();
  private int applications;
  private long asks;
  private long containers;

  /**
   * Looks at the attempts in their order.
   *
   * @param limit how many asks are listed of each leaf queue
   */
  WaitingAsks(RMContext context, Collection<LoomcardAttempt> attempts, int limit) {
    this.context = context;
    this.limit = limit;
    attempts.forEach(this::look);
  }

  private void look(LoomcardAttempt attempt) {
    LoomcardQueue queue = attempt.application().queue();
    int room = limit - listed.getOrDefault(queue, 0);
    long before = asks;
    List<SchedulerRequestKey> keys = new ArrayList<>();
    for (SchedulerRequestKey key : attempt.getSchedulerKeys()) {
      int count = attempt.getOutstandingAsksCount(key);
      if (count > 0) {
        asks++;
        containers += count;
        if (keys.size() < room) {
          keys.add(key);
        }
      }
    }
    applications += asks > before ? 1 : 0;
    if (!keys.isEmpty()) {
      listed.merge(queue, keys.size(), Integer::sum);
      first.put(attempt, keys);
    }
  }

  /**
   * Returns counts and the first asks, with the policy's reasons for them.
   *
   * @param startedAtMs the zero of the engine's clock, in milliseconds since 1970
   */
  WaitingStatus with(WaitReasons waits, long startedAtMs) {
    List<WaitingApplication> shown = new ArrayList<>();
    first.forEach((attempt, keys) -> {
      List<WaitingAsk> reported = new ArrayList<>();
      for (SchedulerRequestKey key : keys) {
        reported.add(ask(attempt, key, waits, startedAtMs));
      }
      ApplicationId id = attempt.application().id();
      shown.add(new WaitingApplication(id.toString(), name(id), attempt.application().user(),
          attempt.application().queue().path(), reported));
    });
    return new WaitingStatus(applications, asks, containers, shown);
  }

  private static WaitingAsk ask(LoomcardAttempt attempt, SchedulerRequestKey key,
      WaitReasons waits, long startedAtMs) {
    int priority = key.getPriority().getPriority();
    long id = key.getAllocationRequestId();
    String reason = waits.reason(attempt.number(), priority, id);
    long untilMs = waits.untilMs(attempt.number(), priority, id);
    for (LoomcardQueue queue = attempt.loomcardQueue(); queue != null; queue = queue.parent()) {
      PlanMessage.QueueWait wait = waits.of(queue.number());
      if (wait != null && wait.untilMs > untilMs) {
        reason = wait.reason;
        untilMs = wait.untilMs;
      }
    }
    Map<String, Long> size = SchedulerStatus.named(Amounts.of(
        attempt.getPendingAsk(key, ResourceRequest.ANY).getPerAllocationResource()));
    return new WaitingAsk(priority, id, attempt.getOutstandingAsksCount(key), size, reason,
        untilMs < 0 ? null : (Long) (startedAtMs + untilMs));
  }

  private String name(ApplicationId id) {
    RMApp app = context.getRMApps().get(id);
    return app == null ? "" : app.getName();
  }
}
