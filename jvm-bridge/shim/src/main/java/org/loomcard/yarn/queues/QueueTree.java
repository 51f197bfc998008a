package org.loomcard.yarn.queues;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.config.QueueSpec;

/**
 * The queues of the policy configuration applied last. Changed under the scheduler's write lock
 * only; read from any thread.
 */
public final class QueueTree {
  private static final long METRICS_EVERY_MS = 1000;
  /** How many leaves a message names. */
  private static final int NAMED = 50;
  private final Configuration conf;
  private final boolean metricsByUser;
  private final int types = Amounts.names().length;
  private volatile Map<String, LoomcardQueue> byPath = Collections.emptyMap();
  private volatile List<LoomcardQueue> byNumber = Collections.emptyList();
  private volatile PolicyConfig policyConfig;
  private volatile QueueNames names;
  private volatile long metricsRefreshedMs;
  private volatile long[] cluster = new long[types];
  private volatile boolean stale;
  /**
   * How many queues have metrics, by label. YARN makes the metrics of a label when they are first
   * used. Two threads at once would register them twice, which ends YARN's event thread.
   */
  private final Map<String, Integer> measured = new HashMap<>();
  private final PartitionCapacities partitions = new PartitionCapacities(types);

  /** @param metricsByUser whether each queue also has metrics of each of its users */
  public QueueTree(Configuration conf, boolean metricsByUser) {
    this.conf = conf;
    this.metricsByUser = metricsByUser;
  }

  /** Replaces the tree; queues whose path stays keep their use and metrics. */
  public void apply(PolicyConfig next) {
    Map<String, LoomcardQueue> paths = new LinkedHashMap<>();
    List<LoomcardQueue> ordered = new ArrayList<>();
    Map<LoomcardQueue, List<LoomcardQueue>> children = new HashMap<>();
    for (QueueSpec spec : next.queues) {
      LoomcardQueue parent = spec.parent < 0 ? null : ordered.get(spec.parent);
      LoomcardQueue queue = byPath.get(spec.path);
      if (queue == null) {
        queue = new LoomcardQueue(spec.path, parent, types,
            QueueMetrics.forQueue(spec.path, parent, metricsByUser, conf));
      }
      paths.put(spec.path, queue);
      ordered.add(queue);
      children.put(queue, new ArrayList<>());
      if (parent != null) {
        children.get(parent).add(queue);
      }
    }
    for (int i = ordered.size() - 1; i >= 0; i--) { // a reader finds a new queue by its parent
      LoomcardQueue queue = ordered.get(i);
      queue.configure(next.queues.get(i), children.get(queue));
    }
    byPath = Collections.unmodifiableMap(paths);
    byNumber = Collections.unmodifiableList(ordered);
    names = new QueueNames(next);
    policyConfig = next;
    measured.clear();
    compute();
  }

  /** The metrics of the whole cluster, also before the first policy configuration. */
  public QueueMetrics rootMetrics() {
    return byNumber.isEmpty() ? QueueMetrics.forQueue("root", null, metricsByUser, conf)
        : root().getMetrics();
  }

  /** The policy configuration applied last; null before the first. */
  public PolicyConfig policyConfig() {
    return policyConfig;
  }

  /**
   * Returns what is in force at the queue that a user means by {@code name}, or, for a leaf that
   * does not exist yet, what will be; null when there is none and it cannot be created.
   */
  public QueueSpec specOf(String name) {
    LoomcardQueue queue = find(name);
    if (queue != null) {
      return queue.spec();
    }
    boolean creatable = name != null && policyConfig != null
        && names.whyNot(name, Integer.MAX_VALUE) == null;
    return creatable ? policyConfig.queue(names.creator(name)).autoCreate.leaf : null;
  }

  /** Whether the user may submit to a queue that is to be created; it looks up groups. */
  public boolean maySubmit(String path, UserGroupInformation user) {
    QueueSpec spec = specOf(path);
    return spec == null || QueueAcl.maySubmit(spec, user);
  }

  /** Which queue a path in a placement rule means. */
  public QueueNames names() {
    return names;
  }

  /**
   * Sets the size of the cluster. {@link #settle} computes all amounts again, at the latest when
   * all queues are looked at: many nodes may come, go and change at once, and each computation
   * costs microseconds per queue. Call it under the scheduler's write lock.
   */
  public void resize(Resource clusterSize) {
    cluster = Amounts.of(clusterSize);
    measure(partitions.all().keySet(), byNumber.size());
    stale = true;
  }

  /**
   * Makes the metrics of these labels for some more queues; returns whether some queues have none
   * yet. It costs a tenth of a millisecond per queue. Call it under the scheduler's write lock.
   */
  public boolean measure(Collection<String> labels, int queues) {
    boolean more = false;
    for (String label : labels) {
      int from = measured.getOrDefault(label, 0);
      int to = Math.min(from + queues, byNumber.size());
      for (LoomcardQueue queue : byNumber.subList(Math.min(from, to), to)) {
        queue.refreshMetrics(partitions, label);
      }
      measured.put(label, to);
      more |= to < byNumber.size();
    }
    return more;
  }

  /**
   * Computes the amounts of all queues, if the cluster has changed since. Any thread may call it.
   */
  public void settle() {
    if (stale) {
      compute();
    }
  }

  private synchronized void compute() {
    stale = false;
    Map<String, long[]> labels = partitions.all();
    LoomcardQueue top = byNumber.get(0);
    top.resize(cluster, cluster, LabelShares.of(labels));
    top.refreshMetrics(partitions, labels.keySet());
  }

  /** The capacity by node label; a caller that changes it must call {@link #resize} afterwards. */
  public PartitionCapacities partitions() {
    return partitions;
  }

  /**
   * Updates the metrics of what is available, unless that was just done, or {@link #settle} is
   * about to do it: heartbeats, which call this, do not wait for that.
   */
  public void refreshMetrics(long nowMs) {
    if (nowMs - metricsRefreshedMs >= METRICS_EVERY_MS && !stale) {
      metricsRefreshedMs = nowMs;
      byNumber.get(0).refreshMetrics(partitions, partitions.all().keySet());
    }
  }

  public LoomcardQueue root() {
    settle();
    return byNumber.get(0);
  }

  /** All queues, depth-first. */
  public List<LoomcardQueue> queues() {
    settle();
    return byNumber;
  }

  /**
   * Returns the path of the queue that a user means by {@code name}; null when {@link #find}
   * returns null.
   */
  public String pathOf(String name) {
    LoomcardQueue queue = find(name);
    return queue == null ? null : queue.path();
  }

  /**
   * Returns the queue that a user means by {@code name}: its path, its path without {@code root.},
   * or the last part of the path of one leaf only. Returns null when there is no such queue, or
   * more than one.
   */
  public LoomcardQueue find(String name) {
    LoomcardQueue exact = byPath.get(name);
    LoomcardQueue found = exact != null ? exact : byPath.get("root." + name);
    if (found != null || name == null) {
      return found;
    }
    for (LoomcardQueue queue : byNumber) {
      if (queue.isLeaf() && queue.spec().name().equals(name)) {
        if (found != null) {
          return null;
        }
        found = queue;
      }
    }
    return found;
  }

  /**
   * Like {@link #find}, but for an unknown name it throws an exception that names the existing
   * queues.
   */
  public LoomcardQueue require(String name) throws IOException {
    LoomcardQueue queue = find(name);
    if (queue == null) {
      throw new IOException(unknown(name));
    }
    return queue;
  }

  /** Returns why {@code name} is not a queue, and which names are. */
  public String unknown(String name) {
    return "Unknown queue: " + name + ". " + leavesText();
  }

  /** Returns the names of the leaf queues, for messages. */
  public String leavesText() {
    List<String> leaves = new ArrayList<>();
    for (LoomcardQueue queue : byNumber) {
      if (queue.isLeaf()) {
        leaves.add(queue.path());
      }
    }
    int more = leaves.size() - NAMED;
    return "Applications go to one of: " + String.join(", ", leaves.subList(0,
        Math.min(NAMED, leaves.size()))) + (more > 0 ? " and " + more + " more" : "");
  }
}
