package org.loomcard.yarn;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.loomcard.yarn.bridge.Bridge;
import org.loomcard.yarn.bridge.BridgeStatus;
import org.loomcard.yarn.bridge.ConfigSwapResult;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.ApplyToken;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.config.QueueSpec;
import org.loomcard.yarn.hadoop.DelegatingScheduler;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.hadoop.YarnRecords;
import org.loomcard.yarn.metrics.ShimMetrics;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.Entitlements;
import org.loomcard.yarn.queues.LoomcardQueue;
import org.loomcard.yarn.queues.QueueTree;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;
import org.loomcard.yarn.state.Reservation;
import org.loomcard.yarn.status.ExplanationStatus;
import org.loomcard.yarn.status.LabelStatus;
import org.loomcard.yarn.status.QueueLimitStatus;
import org.loomcard.yarn.status.QueueStatus;
import org.loomcard.yarn.status.ReservationStatus;
import org.loomcard.yarn.status.StatusSource;
import org.loomcard.yarn.status.UserStatus;
import org.loomcard.yarn.status.WaitingStatus;
import org.loomcard.yarn.wire.EngineClock;

/**
 * The scheduler as its page and its REST document show it. Reads the scheduler's state and queues
 * without YARN's lock. So the figures of one document may be from slightly different moments.
 */
final class SchedulerStatus implements StatusSource {
  /** How many users are shown of each queue that limits their applications: those with the most. */
  private static final int USERS_SHOWN = 10;
  /** How many unusable nodes an explanation names. */
  private static final int NODES_SHOWN = 20;
  /** How long an explanation may take. */
  private static final long EXPLAIN_MS = 10_000;
  private final DelegatingScheduler<LoomcardAttempt, LoomcardNode> yarn;
  private final Bridge bridge;
  private final ClusterState cluster;
  private final QueueTree tree;
  private final ShimMetrics metrics;
  private final EngineClock clock;
  private final RMContext context;
  private final BridgeConfig config;
  private final ApplyToken token;

  SchedulerStatus(DelegatingScheduler<LoomcardAttempt, LoomcardNode> yarn, Bridge bridge,
      ClusterState cluster, QueueTree tree, ShimMetrics metrics, EngineClock clock,
      RMContext context, BridgeConfig config) {
    this.yarn = yarn;
    this.bridge = bridge;
    this.cluster = cluster;
    this.tree = tree;
    this.metrics = metrics;
    this.clock = clock;
    this.context = context;
    this.config = config;
    token = new ApplyToken(config.stateDir);
  }

  @Override
  public ApplyToken token() {
    return token;
  }

  @Override
  public BridgeStatus bridge() {
    return bridge.status();
  }

  @Override
  public long startedAtMs() {
    return clock.epochMs();
  }

  @Override
  public List<String> lacking() {
    return HadoopCalls.lacking();
  }

  @Override
  public long allocatedByPolicy() {
    return metrics.allocatedByPolicy();
  }

  @Override
  public long allocatedByFallback() {
    return metrics.allocatedByFallback();
  }

  @Override
  public Map<String, Long> refusals() {
    return metrics.refused();
  }

  @Override
  public int nodes() {
    return yarn.getNumClusterNodes();
  }

  @Override
  public Map<String, Long> capacity() {
    return named(Amounts.of(yarn.getClusterResource()));
  }

  @Override
  public Map<String, Long> smallest() {
    return named(Amounts.of(yarn.getMinimumResourceCapability()));
  }

  @Override
  public Map<String, Long> largest() {
    return named(Amounts.of(yarn.getMaximumResourceCapability()));
  }

  @Override
  public Map<String, Map<String, Long>> partitions() {
    Map<String, Map<String, Long>> shown = new TreeMap<>();
    tree.partitions().all().forEach((label, capacity) -> shown.put(label, named(capacity)));
    return shown;
  }

  @Override
  public Map<String, List<UserStatus>> users() {
    Map<LoomcardQueue, Map<String, UserCounts>> counts = new LinkedHashMap<>();
    for (LoomcardAttempt attempt : attempts()) {
      UserCounts count = counts
          .computeIfAbsent(attempt.application().queue(), key -> new TreeMap<>())
          .computeIfAbsent(attempt.getUser(), key -> new UserCounts());
      if (attempt.isAmAsk()) {
        count.pending++;
      } else {
        count.active++;
      }
      count.waits |= QueueDemands.waits(attempt);
      Amounts.add(count.ofMasters, ofMaster(attempt));
    }
    Map<String, List<UserStatus>> shown = new LinkedHashMap<>();
    counts.forEach((queue, users) -> users.forEach((user, count) -> shown
        .computeIfAbsent(queue.path(), key -> new ArrayList<>())
        .add(new UserStatus(user, named(queue.usedBy(user)), named(count.ofMasters),
            count.active, count.pending, count.waits))));
    return shown;
  }

  /** What one user has in one queue. */
  private static final class UserCounts {
    private final long[] ofMasters = new long[Amounts.names().length];
    private int active;
    private int pending;
    private boolean waits;
  }

  private long[] ofMaster(LoomcardAttempt attempt) {
    RMApp app = context.getRMApps().get(attempt.application().id());
    RMAppAttempt current = app == null ? null : app.getCurrentAppAttempt();
    Container master = current == null ? null : current.getMasterContainer();
    return master == null ? new long[Amounts.names().length] : Amounts.of(master.getResource());
  }

  @Override
  public Map<String, QueueStatus> queues() {
    QueueDemands demands = new QueueDemands(attempts(), cluster.reservations().all());
    List<LoomcardQueue> queues = tree.queues();
    long[][] entitled = entitlements(queues, demands);
    Map<String, QueueStatus> shown = new LinkedHashMap<>();
    for (int i = 0; i < queues.size(); i++) {
      LoomcardQueue queue = queues.get(i);
      shown.put(queue.path(), new QueueStatus(named(queue.guaranteed()), named(queue.maximum()),
          named(queue.used()), demand(demands.pending(queue)), demand(demands.reserved(queue)),
          queue.applications(), queue.containers(), state(queue, entitled[i], demands)));
    }
    return shown;
  }

  private static QueueStatus.Demand demand(QueueDemands.Demand demand) {
    return new QueueStatus.Demand(named(demand.total), demand.containers);
  }

  private long[][] entitlements(List<LoomcardQueue> queues, QueueDemands demands) {
    int count = queues.size();
    Map<LoomcardQueue, Integer> rows = new HashMap<>();
    int[] parents = new int[count];
    double[] weights = new double[count];
    long[][] guaranteed = new long[count][];
    long[][] maximum = new long[count][];
    long[][] wanted = new long[count][];
    for (int i = 0; i < count; i++) {
      LoomcardQueue queue = queues.get(i);
      parents[i] = rows.getOrDefault(queue.parent(), -1);
      rows.put(queue, i);
      weights[i] = queue.spec().weight;
      guaranteed[i] = queue.guaranteed();
      maximum[i] = queue.maximum();
      wanted[i] = queue.used();
      Amounts.add(wanted[i], demands.pending(queue).total);
    }
    return new Entitlements(parents, weights, guaranteed, maximum, wanted)
        .of(Amounts.of(yarn.getClusterResource()));
  }

  private static QueueLimitStatus state(LoomcardQueue queue, long[] entitled,
      QueueDemands demands) {
    Map<String, LabelStatus> labels = new LinkedHashMap<>();
    Set<String> names = new TreeSet<>(queue.shownLabels());
    names.addAll(demands.labels(queue));
    for (String label : names) {
      labels.put(label, new LabelStatus(named(queue.labelShares().guaranteed(label)),
          named(queue.usedOn(label)), named(queue.lentOn(label)),
          named(queue.labelShares().maximum(label)), named(demands.pending(queue).on(label)),
          named(demands.reserved(queue).on(label))));
    }
    boolean counted = queue.spec().maximumApplicationsPerUser != QueueSpec.NONE;
    return new QueueLimitStatus(queue.state().name().toLowerCase(Locale.ROOT), named(entitled),
        named(queue.usedByAms()), counted ? queue.busiestUsers(USERS_SHOWN)
            : Collections.<String, Integer>emptyMap(), labels);
  }

  @Override
  public WaitingStatus waiting(int limit) {
    return new WaitingAsks(context, attempts(), limit).with(bridge().waits, startedAtMs());
  }

  @Override
  public List<ReservationStatus> reservations() {
    List<ReservationStatus> shown = new ArrayList<>();
    for (Reservation reservation : cluster.reservations().all()) {
      shown.add(new ReservationStatus(reservation.attempt.application().id().toString(),
          reservation.attempt.application().queue().path(), reservation.node.getNodeID().toString(),
          reservation.priority(), reservation.allocationRequestId(), named(reservation.size()),
          startedAtMs() + reservation.sinceMs));
    }
    return shown;
  }

  @Override
  public List<AppliedConfig> history() {
    return bridge.history();
  }

  @Override
  public ConfigSwapResult apply(String yaml, String name, String user) {
    return bridge.swap(yaml, name, user, config.swapDeadlineMs);
  }

  @Override
  public ConfigSwapResult dryRun(String yaml, String name) {
    return bridge.dryRun(yaml, name, config.swapDeadlineMs);
  }

  @Override
  public Map<String, String> nodeLabels() {
    Map<String, String> shown = new TreeMap<>();
    cluster.nodes().forEach(node -> shown.put(node.getNodeID().toString(), node.getPartition()));
    return shown;
  }

  @Override
  public ExplanationStatus explain(String kind, String name) {
    boolean isQueue = !kind.equals("application") && tree.find(name) != null;
    RMApp app = isQueue || kind.equals("queue") ? null : application(name);
    if (!isQueue && app == null) {
      return null;
    }
    String document = bridge.explain(kind, name, EXPLAIN_MS);
    return new ExplanationStatus(document, app == null ? null : app.getState().toString(),
        app == null ? null : app.getDiagnostics().toString(), unusableNodes());
  }

  private RMApp application(String id) {
    try {
      return context.getRMApps().get(YarnRecords.applicationId(id));
    } catch (IllegalArgumentException e) { // no id
      return null;
    }
  }

  private List<String> unusableNodes() {
    List<String> found = new ArrayList<>();
    for (RMNode node : context.getInactiveRMNodes().values()) {
      addUnusable(found, node);
    }
    for (RMNode node : context.getRMNodes().values()) {
      if (node.getState() != NodeState.RUNNING) {
        addUnusable(found, node);
      }
    }
    return found;
  }

  private static void addUnusable(List<String> found, RMNode node) {
    if (found.size() < NODES_SHOWN) {
      String report = node.getHealthReport();
      found.add(node.getNodeID() + " is " + node.getState()
          + (report == null || report.isEmpty() ? "" : " (" + report + ")"));
    }
  }

  /** Returns the current attempts of all live applications, in order of submission. */
  private Collection<LoomcardAttempt> attempts() {
    List<LoomcardAttempt> attempts = new ArrayList<>();
    yarn.getSchedulerApplications().forEach((id, application) -> {
      if (application.getCurrentAppAttempt() != null) {
        attempts.add(application.getCurrentAppAttempt());
      }
    });
    attempts.sort((one, other) -> one.getApplicationAttemptId()
        .compareTo(other.getApplicationAttemptId()));
    return attempts;
  }

  /** Returns amounts by name, without types that have no limit. Returns null for null. */
  static Map<String, Long> named(long[] amounts) {
    if (amounts == null) {
      return null;
    }
    String[] names = Amounts.names();
    Map<String, Long> named = new LinkedHashMap<>();
    for (int i = 0; i < amounts.length; i++) {
      if (amounts[i] != Long.MAX_VALUE) {
        named.put(names[i], amounts[i]);
      }
    }
    return named;
  }
}
