package org.loomcard.yarn;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.AutoCloseableLock;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.loomcard.yarn.bridge.RoundDriver;
import org.loomcard.yarn.commit.TrialGate;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.hadoop.DelegatingScheduler;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.hadoop.HadoopCompat;
import org.loomcard.yarn.hadoop.YarnRecords;
import org.loomcard.yarn.queues.Admission;
import org.loomcard.yarn.queues.AutoQueues;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.queues.QueueTree;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardApplication;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Adds, moves and removes applications and attempts, and changes their priorities. */
final class ApplicationLifecycle {
  private static final Logger LOG = LoggerFactory.getLogger(ApplicationLifecycle.class);
  private final DelegatingScheduler<LoomcardAttempt, LoomcardNode> yarn;
  private final RMContext rmContext;
  private final Map<ApplicationId, SchedulerApplication<LoomcardAttempt>> applications;
  private final ClusterState cluster;
  private final QueueTree tree;
  private final AutoCloseableLock writeLock;
  private final RoundDriver rounds;
  private final TrialGate gate;
  private final Submissions submissions;

  ApplicationLifecycle(DelegatingScheduler<LoomcardAttempt, LoomcardNode> yarn, RMContext rmContext,
      ClusterState cluster, QueueTree tree, RoundDriver rounds, TrialGate gate,
      AutoQueues created) {
    this.yarn = yarn;
    this.rmContext = rmContext;
    this.applications = yarn.getSchedulerApplications();
    this.cluster = cluster;
    this.tree = tree;
    this.writeLock = yarn.writeLock();
    this.rounds = rounds;
    this.gate = gate;
    this.submissions =
        new Submissions(rmContext, applications, cluster, tree, writeLock, rounds, gate, created);
  }

  Submissions submissions() {
    return submissions;
  }

  void finishApplication(ApplicationId id, RMAppState state) {
    try (AutoCloseableLock held = writeLock.acquire()) {
      gate.remove(id);
      SchedulerApplication<LoomcardAttempt> application = applications.remove(id);
      LoomcardApplication known = cluster.application(id);
      if (application == null || known == null) {
        return;
      }
      known.queue().users().deactivateApplication(known.user(), id);
      application.stop(state);
      cluster.finishApplication(known, String.valueOf(state));
    }
    rounds.signal();
  }

  void addAttempt(ApplicationAttemptId id, boolean keepsContainers, boolean recovering) {
    try (AutoCloseableLock held = writeLock.acquire()) {
      SchedulerApplication<LoomcardAttempt> application = applications.get(id.getApplicationId());
      LoomcardApplication known = cluster.application(id.getApplicationId());
      if (application == null || known == null) {
        LOG.warn("Attempt {} of an application that was not accepted", id);
        return;
      }
      LoomcardAttempt attempt = cluster.addAttempt(known, id, rmContext);
      attempt.setPriority(Priority.newInstance(known.priority()));
      if (keepsContainers && application.getCurrentAppAttempt() != null) {
        attempt.transferStateFromPreviousAttempt(application.getCurrentAppAttempt());
      }
      application.setCurrentAppAttempt(attempt);
      HadoopCalls.countAttempt(known.queue().getMetrics(), known.user(), attempt.getUnmanagedAM());
      LOG.info("Added attempt {} of {}", id, known.user());
      if (!recovering) {
        rmContext.getDispatcher().getEventHandler()
            .handle(new RMAppAttemptEvent(id, RMAppAttemptEventType.ATTEMPT_ADDED));
      }
    }
    rounds.signal();
  }

  void finishAttempt(ApplicationAttemptId id, RMAppAttemptState state, boolean keepContainers) {
    try (AutoCloseableLock held = writeLock.acquire()) {
      LoomcardAttempt attempt = yarn.getApplicationAttempt(id);
      if (attempt == null || !attempt.getApplicationAttemptId().equals(id)) {
        LOG.warn("Unknown attempt {} has ended", id);
        return;
      }
      for (RMContainer container : attempt.getLiveContainers()) {
        if (!keepContainers || container.getState() != RMContainerState.RUNNING) {
          yarn.completedContainer(container, SchedulerUtils.createAbnormalContainerStatus(
              container.getContainerId(), SchedulerUtils.COMPLETED_APPLICATION),
              RMContainerEventType.KILL);
        }
      }
      attempt.stop(state);
      cluster.finishAttempt(attempt, String.valueOf(state));
    }
    rounds.signal();
  }

  void checkMove(ApplicationId id, String target) throws YarnException {
    LoomcardApplication application = known(id);
    LoomcardQueue to = tree.find(target);
    String problem = to == null ? tree.unknown(target)
        : submissions.whyNot(to, application.user(), false);
    requireAllowed(application, problem != null ? problem
        : Admission.refusal(to, application.queue(), application.user(), id));
  }

  private static void requireAllowed(LoomcardApplication application, String problem)
      throws YarnException {
    if (problem != null) {
      throw new YarnException("Application " + application.id() + " stays in "
          + application.queue().path() + ": " + problem);
    }
  }

  String move(ApplicationId id, String target) throws YarnException {
    PolicyConfig checked;
    do { // groups are looked up without the lock
      checked = tree.policyConfig();
      checkMove(id, target);
    } while (!move(checked, id, target));
    String path = known(id).queue().path();
    RMApp app = rmContext.getRMApps().get(id);
    if (app != null && !path.equals(target)) {
      HadoopCompat.storeQueue(rmContext, app, path);
    }
    rounds.signal();
    return path;
  }

  /** Returns false when the configuration that was checked is no longer in force. */
  private boolean move(PolicyConfig checked, ApplicationId id, String target) throws YarnException {
    try (AutoCloseableLock held = writeLock.acquire()) {
      if (tree.policyConfig() != checked) {
        return false;
      }
      LoomcardApplication application = known(id);
      LoomcardQueue from = application.queue();
      LoomcardQueue to = tree.find(target);
      requireAllowed(application, !gate.isClosed(to)
          ? Admission.refusal(to, from, application.user(), id) : "queue " + to.path()
          + " belongs to a configuration that is being tried; try again when it is applied");
      LoomcardAttempt attempt = application.attempt();
      if (attempt != null) {
        attempt.move(to);
      }
      applications.get(id).setQueue(to);
      cluster.changeApplication(application, to, application.priority());
      LOG.info("Moved application {} from {} to {}", id, from.path(), to.path());
      return true;
    }
  }

  private LoomcardApplication known(ApplicationId id) throws YarnException {
    LoomcardApplication application = cluster.application(id);
    if (application == null) {
      throw new YarnException("Application " + id + " is not running here");
    }
    return application;
  }

  Priority changePriority(Priority asked, ApplicationId id, UserGroupInformation user,
      HadoopCompat.PriorityStore store) throws YarnException {
    LoomcardApplication application = known(id);
    RMApp app = rmContext.getRMApps().get(id);
    Priority priority = yarn.checkAndGetApplicationPriority(asked, user, app.getQueue(), id);
    if (priority.getPriority() == application.priority()) {
      store.skip();
      return priority;
    }
    app.getApplicationSubmissionContext().setPriority(priority);
    store.write(rmContext, app); // not under the lock: a state store may be slow
    try (AutoCloseableLock held = writeLock.acquire()) {
      SchedulerApplication<LoomcardAttempt> live = applications.get(id);
      if (live != null) {
        YarnRecords.setPriority(live, priority);
        cluster.changeApplication(application, application.queue(), priority.getPriority());
      }
    }
    rounds.signal();
    return priority;
  }

  /** Returns the latest attempts of the applications in this queue or below it. */
  List<ApplicationAttemptId> attemptsWithin(LoomcardQueue queue) {
    List<ApplicationAttemptId> attempts = new ArrayList<>();
    for (LoomcardApplication application : cluster.applications()) {
      if (application.attempt() != null && applications.containsKey(application.id())
          && application.queue().isWithin(queue)) {
        attempts.add(application.attempt().getApplicationAttemptId());
      }
    }
    return attempts;
  }
}
