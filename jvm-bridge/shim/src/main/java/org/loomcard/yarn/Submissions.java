package org.loomcard.yarn;

import java.util.Map;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.AutoCloseableLock;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.loomcard.yarn.bridge.RoundDriver;
import org.loomcard.yarn.commit.TrialGate;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.hadoop.YarnRecords;
import org.loomcard.yarn.queues.Admission;
import org.loomcard.yarn.queues.AutoQueues;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.queues.QueueTree;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.wire.EngineClock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Applications that are submitted or recovered: accepts them, rejects them, or makes them wait. */
final class Submissions {
  private static final Logger LOG = LoggerFactory.getLogger(Submissions.class);
  private final RMContext rmContext;
  private final Map<ApplicationId, SchedulerApplication<LoomcardAttempt>> applications;
  private final ClusterState cluster;
  private final QueueTree tree;
  private final AutoCloseableLock writeLock;
  private final RoundDriver rounds;
  private final TrialGate gate;
  private final AutoQueues created;
  private final SubmissionThreads lookUps = new SubmissionThreads();

  Submissions(RMContext rmContext,
      Map<ApplicationId, SchedulerApplication<LoomcardAttempt>> applications,
      ClusterState cluster, QueueTree tree, AutoCloseableLock writeLock, RoundDriver rounds,
      TrialGate gate, AutoQueues created) {
    this.created = created;
    this.rmContext = rmContext;
    this.applications = applications;
    this.cluster = cluster;
    this.tree = tree;
    this.writeLock = writeLock;
    this.rounds = rounds;
    this.gate = gate;
  }

  /**
   * Accepts or rejects an application; during a trial of a configuration, while groups are looked
   * up, and until its queue is created, it waits.
   */
  void add(AppAddedSchedulerEvent event) {
    submit(new Submission(event, cluster.events().clock()));
  }

  private void submit(Submission submission) {
    if (tree.find(submission.queueName) == null && waitsForQueue(submission)) {
      rounds.signal();
      return;
    }
    LoomcardQueue queue = tree.find(submission.queueName);
    if (queue == null || submission.recovering
        || !queue.needsGroups(UserGroupInformation.createRemoteUser(submission.user))) {
      decide(submission);
      return;
    }
    try (AutoCloseableLock held = writeLock.acquire()) {
      if (submission.waited && !gate.isWaiting(submission.id)) {
        return; // the user has withdrawn it
      }
      defer(submission, "the groups of " + submission.user + " are looked up");
    }
    lookUps.run(submission.user, () -> decide(submission));
  }

  /** Requests the queue, and makes it wait for that; returns false if it cannot be created. */
  private boolean waitsForQueue(Submission submission) {
    try (AutoCloseableLock held = writeLock.acquire()) {
      if (submission.recovering) {
        created.recover(submission.queueName);
        return false;
      }
      if (tree.find(submission.queueName) != null
          || !created.isCreatable(submission.queueName)) {
        return false;
      }
      if (!submission.waited || gate.isWaiting(submission.id)) { // its user may have withdrawn it
        defer(submission, "queue " + submission.queueName + " is created");
        created.request(submission.queueName);
      }
      return true;
    }
  }

  /** Makes it wait; its user may withdraw it. Call it under the write lock. */
  private void defer(Submission submission, String until) {
    submission.waited = true;
    gate.add(submission.id, until, () -> submit(submission));
  }

  private void decide(Submission submission) {
    ApplicationId id = submission.id;
    String queueName = submission.queueName;
    String user = submission.user;
    PolicyConfig checked = tree.policyConfig();
    LoomcardQueue queue = tree.find(queueName);
    String problem = queue != null ? whyNot(queue, user, submission.recovering)
        : unknown(id, user, queueName);
    if (addApplication(checked, problem, submission)) {
      rounds.signal();
    } else {
      submit(submission);
    }
  }

  /** Returns why there is no such queue, in Capacity's words, which clients may look for. */
  private String unknown(ApplicationId id, String user, String queueName) {
    String why = tree.policyConfig().placement == null ? null : created.whyNot(queueName);
    return "Application " + id + " submitted by user " + user + " to unknown queue: " + queueName
        + ". " + (why == null ? "" : why + ". ") + tree.leavesText();
  }

  /** Returns false when the configuration that was checked is no longer in force. */
  private boolean addApplication(PolicyConfig checked, String forbidden, Submission submission) {
    ApplicationId id = submission.id;
    String user = submission.user;
    boolean recovering = submission.recovering;
    try (AutoCloseableLock held = writeLock.acquire()) {
      if (tree.policyConfig() != checked) {
        return false;
      }
      if (submission.waited && !gate.remove(id)) {
        return true; // the user has withdrawn it
      }
      LoomcardQueue queue = tree.find(submission.queueName);
      String problem = forbidden != null || recovering ? forbidden
          : Admission.refusal(queue, null, user, id);
      if (gate.isTrial() && (problem != null || gate.isClosed(queue))) {
        defer(submission, "the configuration that is being tried is applied or taken back");
        return true;
      }
      if (problem != null) {
        LOG.info("Application {} of {} rejected: {}", id, user, problem);
        RMAppEventType end = recovering ? RMAppEventType.KILL : RMAppEventType.APP_REJECTED;
        rmContext.getDispatcher().getEventHandler().handle(new RMAppEvent(id, end, problem));
        return true;
      }
      RMApp app = rmContext.getRMApps().get(id);
      boolean unmanaged = app != null && app.getApplicationSubmissionContext() != null
          && app.getApplicationSubmissionContext().getUnmanagedAM();
      Priority priority = submission.priority;
      applications.put(id, HadoopCalls.newApplication(queue, user, priority, unmanaged));
      cluster.addApplication(id, user, app, queue, priority.getPriority(),
          submission.submittedMs(app, cluster.events().clock()));
      HadoopCalls.countSubmission(queue.getMetrics(), user, unmanaged);
      LOG.info("Accepted application {} of {} into {}", id, user, queue.path());
      if (!recovering) {
        rmContext.getDispatcher().getEventHandler().handle(new RMAppEvent(id,
            RMAppEventType.APP_ACCEPTED));
      }
      return true;
    }
  }

  /**
   * Returns null when {@code user} may run an application in {@code queue}; otherwise one sentence
   * that says why not.
   */
  String whyNot(LoomcardQueue queue, String user, boolean recovering) {
    if (!queue.isLeaf()) {
      return "Queue " + queue.path() + " holds queues, not applications. " + tree.leavesText();
    }
    UserGroupInformation caller = UserGroupInformation.createRemoteUser(user);
    if (!recovering && !queue.hasAccess(QueueACL.SUBMIT_APPLICATIONS, caller)) {
      return "User " + user + " may not submit to queue " + queue.path() + "; who may: "
          + queue.submitters();
    }
    return null;
  }

  /** A submitted application; during a trial of a configuration it may have to wait for its end. */
  private static final class Submission {
    private final ApplicationId id;
    private final String queueName;
    private final String user;
    private final Priority priority;
    /** Whether a ResourceManager accepted it before. */
    private final boolean recovering;
    /** Whether it has waited; guarded by the scheduler's write lock. */
    private boolean waited;
    /** When it was first seen, on the engine's clock: the wall clock may be set meanwhile. */
    private final long seenMs;

    private Submission(AppAddedSchedulerEvent event, EngineClock clock) {
      seenMs = clock.nowMs();
      id = event.getApplicationId();
      queueName = event.getQueue();
      user = event.getUser();
      Priority asked = YarnRecords.priority(event);
      priority = asked == null ? Priority.newInstance(0) : asked;
      recovering = event.getIsAppRecovering();
    }

    /**
     * Returns the time of submission on the engine's clock. For a recovered application only the
     * wall clock of its submission is known; if that was ahead, it counts as submitted now.
     */
    private long submittedMs(RMApp app, EngineClock clock) {
      return recovering && app != null
          ? Math.min(seenMs, clock.fromWallMs(app.getSubmitTime())) : seenMs;
    }
  }
}
