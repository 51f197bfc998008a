package org.loomcard.yarn.commit;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.apache.hadoop.util.AutoCloseableLock;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.commit.FitIndex.ExhaustedShapes;
import org.loomcard.yarn.commit.FitIndex.FreeNode;
import org.loomcard.yarn.commit.FitIndex.Partition;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.LabelUse;
import org.loomcard.yarn.queues.ReasonCodes;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardApplication;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;

/**
 * Serves the cluster while no policy process can: applications in order of arrival, asks in order
 * of priority, nodes by number, near places first. An ask that fits nowhere blocks no other ask.
 *
 * <p>It searches without YARN's lock and takes it only for allocations, at most {@link #SLICE} at a
 * time. A round lasts about {@link #BUDGET_NANOS}, after the room of the nodes was read. The next
 * round continues where it stopped, so
 * that every application gets its turn. It begins after a pause of at least the same length. Any
 * thread may call it; only one runs at a time.
 */
public final class FifoFallback {
  /**
   * How many are tried each time the lock is taken: few enough that heartbeats get it in between.
   */
  public static final int SLICE = 32;
  public static final long BUDGET_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
  private final ClusterState cluster;
  private final Task task;
  private final Resource least;
  private final AutoCloseableLock writeLock;
  private final LongSupplier nanoTime;
  private long endNanos;
  /** The nodes of this round; null until an ask is to be placed. */
  private FitIndex nodes;
  private long resumeAtNanos;
  /** Where the next round continues; 0: at the first application. */
  private int application;
  /** The ask of that application that was served last; null: none yet. */
  private SchedulerRequestKey served;
  private volatile boolean unfinished;

  /** Selects the asks that a round serves, by default all, and how. Called by its thread. */
  interface Task {

    default boolean serves(LoomcardApplication application) {
      return true;
    }

    default boolean serves(LoomcardAttempt attempt, SchedulerRequestKey key) {
      return true;
    }

    /** Returns what may be taken of a node: by default what is free there. */
    default long[] room(LoomcardNode node) {
      return Amounts.of(node.getUnallocatedResource());
    }

    /**
     * Allocates one container, under the write lock.
     *
     * @return null when it was allocated, otherwise the reason code, or {@link #ENOUGH}
     */
    String allocate(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node);

    /** Notes that all places for the ask were looked at, or that it has all it wants. */
    default void looked(LoomcardAttempt attempt, SchedulerRequestKey key) {
    }
  }

  /** What {@link Task#allocate} returns when nothing more is to be done for the ask. */
  static final String ENOUGH = "ENOUGH";

  /** Creates a fallback that serves every application. */
  public FifoFallback(ClusterState cluster, PlanCommitter committer, Resource least, Lock writeLock,
      LongSupplier nanoTime) {
    this(cluster, committer::allocateByFallback, least, writeLock, nanoTime);
  }

  /**
   * Creates a fallback for one task.
   *
   * @param least nodes with less room than this are skipped
   * @param writeLock the scheduler's
   */
  FifoFallback(ClusterState cluster, Task task, Resource least, Lock writeLock,
      LongSupplier nanoTime) {
    this.cluster = cluster;
    this.task = task;
    this.least = least;
    this.writeLock = new AutoCloseableLock(writeLock);
    this.nanoTime = nanoTime;
    this.resumeAtNanos = nanoTime.getAsLong();
  }

  /** Whether the last round ran out of time before it had looked at every ask. */
  public boolean isUnfinished() {
    return unfinished;
  }

  /**
   * Allocates what fits and returns how many containers that was. The caller holds none of YARN's
   * locks.
   */
  public synchronized int round() {
    pause();
    long begin = nanoTime.getAsLong();
    endNanos = begin + BUDGET_NANOS;
    int allocated = 0;
    nodes = null;
    unfinished = false;
    for (LoomcardApplication next : cluster.applications()) {
      if (next.number() < application || !task.serves(next)) {
        continue;
      }
      allocated += serve(next);
      if (unfinished) {
        break;
      }
    }
    if (!unfinished) {
      application = 0;
      served = null;
    }
    long now = nanoTime.getAsLong();
    resumeAtNanos = now + Math.max(LEAST_PAUSE_NANOS, now - begin);
    return allocated;
  }

  private void pause() {
    for (long left = resumeAtNanos - nanoTime.getAsLong();
        left > 0 && !Thread.currentThread().isInterrupted();
        left = resumeAtNanos - nanoTime.getAsLong()) {
      LockSupport.parkNanos(this, left);
    }
  }

  private boolean isTimeOver() {
    return nanoTime.getAsLong() - endNanos >= 0;
  }

  /** Returns the room of all nodes, which is read when the first ask of a round needs it. */
  private FitIndex nodes() {
    if (nodes == null) {
      long begin = nanoTime.getAsLong();
      nodes = new FitIndex(cluster.nodes(), least, task::room);
      // On a large cluster it may take the whole budget: then no ask would ever be tried.
      endNanos += nanoTime.getAsLong() - begin;
    }
    return nodes;
  }

  private int serve(LoomcardApplication next) {
    LoomcardAttempt attempt = next.attempt();
    if (attempt == null || attempt.isStopped()) {
      return 0;
    }
    if (next.number() != application) {
      application = next.number();
      served = null;
    }
    int allocated = 0;
    Map<Partition, ExhaustedShapes> nowhere = new HashMap<>();
    for (SchedulerRequestKey key : attempt.getSchedulerKeys()) {
      if (key.getContainerToUpdate() != null || served != null && key.compareTo(served) <= 0
          || !task.serves(attempt, key)) {
        continue;
      }
      int more = serve(attempt, key, nowhere);
      allocated += more;
      if (isTimeOver()) {
        // An ask that was allocated something may want more; any other ask had its turn.
        served = more > 0 ? served : key;
        unfinished = true;
        return allocated;
      }
      task.looked(attempt, key);
      served = key;
    }
    return allocated;
  }

  private int serve(LoomcardAttempt attempt, SchedulerRequestKey key,
      Map<Partition, ExhaustedShapes> nowhere) {
    ResourceRequest any = HadoopCalls.rows(attempt, key).get(ResourceRequest.ANY);
    if (any == null || any.getNumContainers() <= 0) {
      return 0;
    }
    String label = any.getNodeLabelExpression();
    String asked = label == null ? "" : label;
    long[] size = Amounts.of(any.getCapability());
    int allocated = 0;
    for (Partition partition : nodes().partitions(asked)) {
      if (!partition.mayFit(size)) {
        continue;
      }
      if (isTimeOver() || attempt.loomcardQueue().refusal(attempt.getUser(), size,
          attempt.isAmAsk(), new LabelUse(asked, asked)) != null) {
        break;
      }
      allocated += serve(attempt, key, size, partition, nowhere);
    }
    return allocated;
  }

  private int serve(LoomcardAttempt attempt, SchedulerRequestKey key, long[] size,
      Partition partition, Map<Partition, ExhaustedShapes> nowhere) {
    Map<String, ResourceRequest> rows = HadoopCalls.rows(attempt, key);
    ResourceRequest any = rows.get(ResourceRequest.ANY);
    if (any == null || any.getNumContainers() <= 0) {
      return 0;
    }
    ExhaustedShapes own = nowhere.get(partition);
    if (own != null && own.cover(size)) {
      return 0;
    }
    Search search = new Search(attempt, key, size, near(rows, any, partition));
    search.run();
    if (search.isExhausted() && any.getRelaxLocality() && !search.wasUnsuitable) {
      if (search.wasForbidden) {
        nowhere.computeIfAbsent(partition, p -> new ExhaustedShapes()).add(size);
      } else {
        partition.fitsNowhere(size);
      }
    }
    return search.allocated;
  }

  /**
   * Returns the nodes that the ask may use: its hosts, then its racks, then all if it allows them.
   */
  private static List<FreeNode> near(Map<String, ResourceRequest> rows, ResourceRequest any,
      Partition partition) {
    if (rows.size() <= 1) {
      return partition.all();
    }
    List<FreeNode> hosts = new ArrayList<>();
    List<FreeNode> racks = new ArrayList<>();
    for (ResourceRequest row : rows.values()) {
      String name = row.getResourceName();
      if (row == any || row.getNumContainers() <= 0) {
        continue;
      }
      if (!name.startsWith("/")) {
        hosts.addAll(partition.named(name));
      } else if (row.getRelaxLocality()) {
        racks.addAll(partition.named(name));
      }
    }
    hosts.addAll(racks);
    if (any.getRelaxLocality()) {
      hosts.addAll(partition.all());
    }
    return hosts;
  }

  /** Allocates the containers of one ask on the places given, in their order. */
  private final class Search {
    private final LoomcardAttempt attempt;
    private final SchedulerRequestKey key;
    private final long[] size;
    private final List<FreeNode> places;
    private int at;
    private int allocated;
    private boolean done;
    /** Whether a place with room was skipped since this attempt refuses it. */
    private boolean wasForbidden;
    /** Whether one was skipped for a reason that may not hold for the attempt's other asks. */
    private boolean wasUnsuitable;

    private Search(LoomcardAttempt attempt, SchedulerRequestKey key, long[] size,
        List<FreeNode> places) {
      this.attempt = attempt;
      this.key = key;
      this.size = size;
      this.places = places;
    }

    /** Whether every place was tried and the ask wants more. */
    private boolean isExhausted() {
      return !done && at == places.size();
    }

    private void run() {
      while (toNextPlace() && !done) {
        try (AutoCloseableLock held = writeLock.acquire()) {
          allocateSlice();
        }
        if (isTimeOver()) {
          return;
        }
      }
    }

    /** Skips, without the lock, places that have no room or are not wanted. */
    private boolean toNextPlace() {
      while (at < places.size() && !isCandidate(places.get(at))) {
        at++;
      }
      return at < places.size();
    }

    private boolean isCandidate(FreeNode place) {
      if (!place.mayFit(size)) {
        return false;
      }
      boolean forbidden = attempt.isPlaceBlacklisted(place.node.getNodeName())
          || attempt.isPlaceBlacklisted(place.node.getRackName());
      wasForbidden |= forbidden;
      return !forbidden;
    }

    private void allocateSlice() {
      for (int i = 0; i < SLICE && at < places.size() && !done; i++) {
        FreeNode place = places.get(at);
        if (!place.mayFit(size)) {
          at++;
          continue;
        }
        String refusal = task.allocate(attempt, key, place.node);
        if (refusal == null) {
          place.take(size);
          allocated++;
        } else {
          refused(place, refusal);
        }
      }
    }

    private void refused(FreeNode place, String reason) {
      switch (reason) {
        case ReasonCodes.NODE_FULL:
        case ReasonCodes.NODE_GONE:
          place.readAgain();
          at++;
          break;
        case ReasonCodes.BLACKLISTED:
          wasForbidden = true;
          at++;
          break;
        case ReasonCodes.NODE_RESERVED:
        case ReasonCodes.LABEL:
        case ReasonCodes.LOCALITY:
          wasUnsuitable = true;
          at++;
          break;
        default:
          done = true;
      }
    }
  }
}
