package org.loomcard.yarn.queues;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.loomcard.yarn.config.AutoCreate;
import org.loomcard.yarn.config.PolicyConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Queues that are created for applications and removed when idle. YARN's threads only request them;
 * between two rounds all that were requested become part of the configuration in force at once.
 * Neither a policy process nor a disk is needed for that: an application that is recovered gets its
 * queue back.
 */
public final class AutoQueues {
  private static final Logger LOG = LoggerFactory.getLogger(AutoQueues.class);
  /** Each change costs a snapshot, so changes are at least so far apart. */
  private static final long APART_MS = 250;
  private static final long IDLE_LOOK_MS = 1000;
  private static final long SECOND_MS = 1000;
  private final QueueTree tree;
  /** Guarded by this object. */
  private Set<String> wanted = new LinkedHashSet<>();
  private final Map<String, Long> idleSinceMs = new HashMap<>();
  private long changedMs = -APART_MS;
  private long lookedMs;
  private volatile boolean started;

  public AutoQueues(QueueTree tree) {
    this.tree = tree;
  }

  /** Whether an application that was placed there may have this queue created. */
  public boolean isCreatable(String path) {
    return tree.policyConfig().placement != null && whyNot(path) == null;
  }

  /** Returns why this queue neither exists nor can be created; null if it can. */
  public String whyNot(String path) {
    return path == null ? "no queue is named" : tree.names().whyNot(path, Integer.MAX_VALUE);
  }

  /** Requests a queue. Any thread may call it; it returns at once. */
  public synchronized void request(String path) {
    wanted.add(path);
  }

  /**
   * Creates at once the queue of an application that is recovered, whatever the limits: it was
   * accepted before. Call it under the scheduler's write lock, before the rounds begin.
   */
  public void recover(String path) {
    if (started || path == null) {
      return;
    }
    List<String> leaves = new ArrayList<>(tree.policyConfig().created());
    leaves.add(path);
    PolicyConfig next = tree.policyConfig().withCreated(leaves);
    if (next.queue(path) != null) {
      tree.apply(next);
      LOG.info("Created queue {} again, for an application that is recovered", path);
    }
  }

  /** The rounds begin: from now on {@link #changed} alone creates queues. */
  public void start() {
    started = true;
  }

  /**
   * Returns the configuration in force with the queues that were requested, and without those that
   * have been idle; null when there is nothing to do. The same configuration means that what was
   * requested exists, or cannot be created any more.
   */
  public PolicyConfig changed(long nowMs) {
    Set<String> now = take(nowMs);
    boolean looks = nowMs - lookedMs >= IDLE_LOOK_MS;
    if (now.isEmpty() && !looks) {
      return null;
    }
    PolicyConfig config = tree.policyConfig();
    List<String> created = config.created();
    List<String> leaves = new ArrayList<>(created);
    if (looks) {
      lookedMs = nowMs;
      leaves.removeIf(path -> !now.contains(path) && hasExpired(path, nowMs));
      idleSinceMs.keySet().retainAll(leaves);
    }
    int removed = created.size() - leaves.size();
    Map<String, Integer> counts = new HashMap<>();
    for (String path : now) {
      if (config.queue(path) == null && whyNot(path) == null) {
        String creator = tree.names().creator(path);
        int count = counts.merge(creator, 1, Integer::sum) + tree.names().createdBelow(creator);
        if (count <= config.queue(creator).autoCreate.maximumQueues) {
          leaves.add(path);
        }
      }
    }
    if (leaves.equals(created)) {
      return now.isEmpty() ? null : config;
    }
    changedMs = nowMs;
    LOG.info("Creating {} queues, removing {} that were idle", leaves.size() + removed
        - created.size(), removed);
    return config.withCreated(leaves);
  }

  private synchronized Set<String> take(long nowMs) {
    Set<String> taken = new LinkedHashSet<>();
    if (!wanted.isEmpty() && nowMs - changedMs >= APART_MS) {
      taken = wanted;
      wanted = new LinkedHashSet<>();
    }
    return taken;
  }

  private boolean hasExpired(String path, long nowMs) {
    LoomcardQueue queue = tree.find(path);
    AutoCreate creates = tree.policyConfig().queue(tree.names().creator(path)).autoCreate;
    if (queue == null || queue.applications() > 0 || creates.removeAfterS < 0) {
      idleSinceMs.remove(path);
      return false;
    }
    return nowMs - idleSinceMs.computeIfAbsent(path, key -> nowMs)
        >= creates.removeAfterS * SECOND_MS;
  }
}
