package org.loomcard.yarn.commit;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.config.QueueSpec;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Submissions that wait, and may be withdrawn meanwhile. While a new configuration is tried, no
 * application may enter a queue that only one of the two configurations has: otherwise that
 * configuration could not be removed again. Such submissions wait until the trial ends. Then the
 * configuration in force accepts or refuses them. Other submissions wait for a look-up of groups.
 * Every method is called under the scheduler's write lock.
 */
public final class TrialGate {
  private static final Logger LOG = LoggerFactory.getLogger(TrialGate.class);
  private final Map<ApplicationId, Runnable> waiting = new LinkedHashMap<>();
  private PolicyConfig before;

  /**
   * Begins the trial of a configuration that may replace this one (null: the first one is tried).
   */
  void begin(PolicyConfig governing) {
    before = governing;
  }

  /**
   * Ends the trial: the submissions that wait are made again, in order. That happens on a separate
   * thread, as the caller holds the lock.
   */
  void end() {
    before = null;
    if (!waiting.isEmpty()) {
      List<Runnable> coming = new ArrayList<>(waiting.values());
      Thread thread = new Thread(() -> coming.forEach(Runnable::run), "loomcard-submissions");
      thread.setDaemon(true);
      thread.start();
    }
  }

  /** Whether a trial may still remove this queue (of the tried tree, or null). */
  public boolean isClosed(LoomcardQueue queue) {
    if (before == null) {
      return false;
    }
    QueueSpec spec = queue == null ? null : before.queue(queue.path());
    return spec == null || !spec.leaf;
  }

  /** Whether a configuration is being tried. */
  public boolean isTrial() {
    return before != null;
  }

  /**
   * Makes the application wait.
   *
   * @param until what it waits for, for the log
   * @param submission makes it again, after a trial
   */
  public void add(ApplicationId id, String until, Runnable submission) {
    LOG.info("Application {} waits until {}", id, until);
    waiting.put(id, submission);
  }

  /** Whether it still waits. */
  public boolean isWaiting(ApplicationId id) {
    return waiting.containsKey(id);
  }

  /** Ends its wait; returns false if it did not wait, or was withdrawn meanwhile. */
  public boolean remove(ApplicationId id) {
    return waiting.remove(id) != null;
  }
}
