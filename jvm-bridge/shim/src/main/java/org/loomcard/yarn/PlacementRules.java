package org.loomcard.yarn;

import java.util.Arrays;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.queues.Placement;
import org.loomcard.yarn.queues.QueueTree;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the placement rules in force for the queue of a new application. YARN calls it on the thread
 * of the submission, and writes the queue down before anything else, so that a restart finds it.
 */
final class PlacementRules {
  private static final Logger LOG = LoggerFactory.getLogger(PlacementRules.class);
  private final QueueTree tree;
  private final BooleanSupplier started;

  /** @param started whether applications are new; before that they are recovered */
  PlacementRules(QueueTree tree, BooleanSupplier started) {
    this.tree = tree;
    this.started = started;
  }

  /**
   * Returns the path of the queue, which may have to be created; null for an unknown one.
   *
   * @throws YarnException when the rules refuse the application; it says by which rule
   */
  String queueFor(ApplicationSubmissionContext asked, String user) throws YarnException {
    PolicyConfig config = tree.policyConfig();
    if (config == null || config.placement == null || !started.getAsBoolean()) {
      return tree.pathOf(asked.getQueue());
    }
    Placement.Outcome outcome = Placement.place(config.placement, tree.names(),
        new Placement.Submission(user, () -> Arrays.asList(
            UserGroupInformation.createRemoteUser(user).getGroupNames()),
            asked.getApplicationName(), asked.getApplicationTags(), asked.getQueue()));
    String why = String.join("; ", outcome.why);
    if (outcome.queue == null) {
      LOG.info("Application {} of {} is refused: {}", asked.getApplicationId(), user, why);
      throw new YarnException("Application " + asked.getApplicationId() + " of user " + user
          + ", submitted to queue " + asked.getQueue() + ", is refused by the placement rules: "
          + why + ". " + tree.leavesText());
    }
    if (tree.find(outcome.queue) == null
        && !tree.maySubmit(outcome.queue, UserGroupInformation.createRemoteUser(user))) {
      throw new YarnException("User " + user + " may not submit to queue " + outcome.queue
          + ", to which placement rule " + outcome.rule + " leads; it is not created");
    }
    LOG.info("Application {} of {} goes to {} by placement rule {}{}", asked.getApplicationId(),
        user, outcome.queue, outcome.rule, why.isEmpty() ? "" : " (" + why + ")");
    return outcome.queue;
  }
}
