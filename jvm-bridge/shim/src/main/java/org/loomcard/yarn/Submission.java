package org.loomcard.yarn;

import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.loomcard.yarn.wire.EngineClock;

/** A submitted application; during a trial of a configuration it may have to wait for its end. */
final class Submission {
  final ApplicationId id;
  final String queueName;
  final String user;
  final Priority priority;
  /** Whether a ResourceManager accepted it before. */
  final boolean recovering;
  /** Whether it has waited; guarded by the scheduler's write lock. */
  boolean waited;
  /**
   * When it was first seen, on the engine's clock, which does not jump when the wall clock is set.
   */
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
   * Returns the time of submission on the engine's clock. For a recovered application only the wall
   * clock of its submission is known; if that was ahead, it counts as submitted now.
   */
  long submittedMs(RMApp app, EngineClock clock) {
    return recovering && app != null
        ? Math.min(seenMs, clock.fromWallMs(app.getSubmitTime())) : seenMs;
  }
}
