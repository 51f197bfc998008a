package org.loomcard.yarn.commit;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.hadoop.YarnRecords;
import org.loomcard.yarn.state.LoomcardApplication;
import org.loomcard.yarn.state.LoomcardAttempt;

/**
 * The sentences in YARN's diagnostics that say why applications wait. YARN shows them while an
 * application has no diagnostics of its own. For one thread.
 */
final class Diagnostics {
  private final Map<LoomcardAttempt, String> shown = new HashMap<>();

  /** Shows a sentence if the application waits; removes the one before if it is null. */
  void show(LoomcardApplication application, String sentence) {
    LoomcardAttempt attempt = application.attempt();
    if (attempt == null) {
      return;
    }
    boolean waits = sentence != null && !attempt.isStopped() && isWaiting(attempt);
    RMAppAttempt known = known(attempt);
    if (!waits) {
      remove(shown.remove(attempt), known);
    } else if (known != null && !sentence.equals(shown.put(attempt, sentence))) {
      YarnRecords.diagnose(known, sentence);
    }
  }

  /** Whether any is shown. */
  boolean isShowing() {
    return !shown.isEmpty();
  }

  /** Removes those of attempts that have ended. */
  void forgetEnded() {
    shown.entrySet().removeIf(each -> {
      LoomcardAttempt attempt = each.getKey();
      if (attempt.isStopped()) {
        remove(each.getValue(), known(attempt));
      }
      return attempt.isStopped();
    });
  }

  /** Removes a sentence, unless something else is shown by now, such as why a queue stalled. */
  private static void remove(String sentence, RMAppAttempt known) {
    if (sentence != null && known != null && sentence.equals(known.getDiagnostics())) {
      YarnRecords.diagnose(known, null);
    }
  }

  /** Returns the ResourceManager's view of the attempt; null if it has another one by now. */
  private static RMAppAttempt known(LoomcardAttempt attempt) {
    RMAppAttempt known = attempt.appAttempt();
    return known != null && known.getAppAttemptId().equals(attempt.getApplicationAttemptId())
        ? known : null;
  }

  private static boolean isWaiting(LoomcardAttempt attempt) {
    for (SchedulerRequestKey key : attempt.getSchedulerKeys()) {
      if (attempt.getOutstandingAsksCount(key) > 0) {
        return true;
      }
    }
    return false;
  }
}
