package org.loomcard.yarn.commit;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.loomcard.yarn.policyconfig.PolicyConfig;
import org.loomcard.yarn.policyconfig.QueueSpec;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Submissions that wait, and may be withdrawn meanwhile. It keeps applications from queues that
 * only one of two configurations has, while the new one is tried: otherwise neither could be taken
 * away again. They wait for as long as the trial lasts; then they are accepted or refused by what
 * governs. Others wait for a look-up of groups. Every method is called under the scheduler's write
 * lock.
 */
public final class TrialGate {
  private static final Logger LOG = LoggerFactory.getLogger(TrialGate.class);
  private final Map<ApplicationId, Runnable> waiting = new LinkedHashMap<>();
  private PolicyConfig before;

  /** A configuration is tried in place of this one, or nothing is yet (null). */
  void begin(PolicyConfig governing) {
    before = governing;
  }

  /**
   * The trial is over: submissions that wait are made again, in order, on a thread of their own, as
   * the caller holds the lock.
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

  /** Whether a trial is under way that may yet take away the queue of the tried tree, or null. */
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
   * The application waits.
   *
   * @param until what for, for the log
   * @param submission makes it again, after a trial
   */
  public void add(ApplicationId id, String until, Runnable submission) {
    LOG.info("Application {} waits until {}", id, until);
    waiting.put(id, submission);
  }

  /** Whether it waits still. */
  public boolean isWaiting(ApplicationId id) {
    return waiting.containsKey(id);
  }

  /** It waits no longer; false: it did not, or was withdrawn meanwhile. */
  public boolean remove(ApplicationId id) {
    return waiting.remove(id) != null;
  }
}
