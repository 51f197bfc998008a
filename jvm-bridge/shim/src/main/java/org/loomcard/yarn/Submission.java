package org.loomcard.yarn;

import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;

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

  Submission(AppAddedSchedulerEvent event) {
    id = event.getApplicationId();
    queueName = event.getQueue();
    user = event.getUser();
    Priority asked = event.getApplicatonPriority();
    priority = asked == null ? Priority.newInstance(0) : asked;
    recovering = event.getIsAppRecovering();
  }
}
