package org.loomcard.yarn;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the submissions for which a user's groups must be looked up. A directory may take seconds
 * for that, and YARN has one thread for all events of the scheduler, heartbeats included. A user
 * takes one thread at a time. The first submission makes Hadoop cache the groups for the ones that
 * wait behind it.
 */
final class SubmissionThreads {
  private static final Logger LOG = LoggerFactory.getLogger(SubmissionThreads.class);
  private static final int MOST = 16;
  private static final long IDLE_SECONDS = 10;
  private final Map<String, Queue<Runnable>> ofUsers = new HashMap<>();
  private final ThreadPoolExecutor threads = new ThreadPoolExecutor(MOST, MOST, IDLE_SECONDS,
      TimeUnit.SECONDS, new LinkedBlockingQueue<>(), work -> {
        Thread thread = new Thread(work, "loomcard-submissions");
        thread.setDaemon(true);
        return thread;
      });

  SubmissionThreads() {
    threads.allowCoreThreadTimeOut(true);
  }

  /** Makes a submission later, after earlier ones of the same user. */
  synchronized void run(String user, Runnable submission) {
    Queue<Runnable> waiting = ofUsers.get(user);
    if (waiting == null) {
      waiting = new ArrayDeque<>();
      ofUsers.put(user, waiting);
      threads.execute(() -> runAll(user));
    }
    waiting.add(submission);
  }

  private void runAll(String user) {
    for (Runnable next = next(user); next != null; next = next(user)) {
      try {
        next.run();
      } catch (RuntimeException | Error e) { // the next submission must still run
        LOG.error("A submission of {} failed", user, e);
      }
    }
  }

  private synchronized Runnable next(String user) {
    Runnable next = ofUsers.get(user).poll();
    if (next == null) {
      ofUsers.remove(user);
    }
    return next;
  }
}
