package org.loomcard.yarn.config;

import java.io.IOException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes state on a separate thread, one task after the other, so that a store that hangs delays no
 * caller for longer than a deadline.
 */
final class StateWriter {
  /** One or more writes. */
  public interface Task {
    void run() throws IOException;
  }

  private static final Logger LOG = LoggerFactory.getLogger(StateWriter.class);
  private final long deadlineMs;
  private final ThreadPoolExecutor executor;

  StateWriter(long deadlineMs) {
    this.deadlineMs = deadlineMs;
    executor = new ThreadPoolExecutor(1, 1, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(16),
        task -> {
          Thread thread = new Thread(task, "loomcard-state");
          thread.setDaemon(true);
          return thread;
        });
    executor.allowCoreThreadTimeOut(true);
  }

  /** Does the same as {@link #run(Task, Task)} for a task of which nothing need be undone. */
  void run(Task task) throws IOException {
    run(task, () -> { });
  }

  /**
   * Runs {@code task} and waits for it.
   *
   * @param undo run after a task that failed, since it may have taken effect in part or the answer
   *     of a store was lost, and after one whose end was not seen in time; before anything else is
   *     written
   * @throws IOException the one that the task threw, or one that says that its end was not seen in
   *     time
   */
  void run(Task task, Task undo) throws IOException {
    Future<?> done = submit(() -> {
      try {
        task.run();
      } catch (IOException | RuntimeException e) {
        undoAfter(undo);
        throw e;
      }
    });
    try {
      done.get(deadlineMs, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      giveUp(done, undo);
      throw new IOException("not written within " + deadlineMs + " ms ("
          + BridgeConfig.STATE_DEADLINE_MS + ")", e);
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      throw cause instanceof IOException ? (IOException) cause : new IOException(cause);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      giveUp(done, undo);
      throw new IOException("interrupted while it was written", e);
    }
  }

  /**
   * Abandons a task. If it is queued, it never runs; if it runs, it may still succeed, so it is
   * undone in any case.
   */
  private void giveUp(Future<?> task, Task undo) throws IOException {
    task.cancel(false);
    submit(() -> undoAfter(undo));
  }

  private static void undoAfter(Task undo) {
    try {
      undo.run();
    } catch (IOException | RuntimeException e) {
      LOG.error("What was given up could not be undone; check it after the next restart", e);
    }
  }

  private Future<?> submit(Task task) throws IOException {
    try {
      return executor.submit(() -> {
        task.run();
        return null;
      });
    } catch (RejectedExecutionException e) {
      throw new IOException("earlier writes are still under way", e);
    }
  }
}
