package org.loomcard.yarn;

import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.loomcard.yarn.wire.EngineClock;

/** A submitted application; during a trial of a configuration it may have to wait for the end. */
final class Submission {
  final ApplicationId id;
  final String queueName;
  final String user;
  final Priority priority;
  /** Whether it was accepted by a ResourceManager before. */
  final boolean recovering;
  /** Whether it has waited; guarded by the scheduler's write lock. */
  boolean waited;
  /** When it was first seen, on the engine's clock, which no step of the wall clock moves. */
  private final long seenMs;

  Submission(AppAddedSchedulerEvent event, EngineClock clock) {
    seenMs = clock.nowMs();
    id = event.getApplicationId();
    queueName = event.getQueue();
    user = event.getUser();
    Priority asked = event.getApplicatonPriority();
    priority = asked == null ? Priority.newInstance(0) : asked;
    recovering = event.getIsAppRecovering();
  }

  /**
   * On the engine's clock. Of a recovered application the wall clock of its submission is all there
   * is; if that was ahead, it counts as submitted now.
   */
  long submittedMs(RMApp app, EngineClock clock) {
    return recovering && app != null
        ? Math.min(seenMs, clock.fromWallMs(app.getSubmitTime())) : seenMs;
  }
}
