package org.loomcard.yarn.queues;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueState;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ActiveUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.loomcard.yarn.config.Limit;
import org.loomcard.yarn.config.QueueSpec;
import org.loomcard.yarn.hadoop.LabelMetrics;
import org.loomcard.yarn.hadoop.YarnQueue;

/**
 * One queue. It keeps its use and its metrics when policy configurations change, as long as each
 * has a queue of its path. A new policy configuration only replaces its {@link QueueSpec}.
 */
public final class LoomcardQueue extends YarnQueue {
  /** All of an amount, in millionths. */
  static final int WHOLE = 1_000_000;
  private final String path;
  private final LoomcardQueue parent;
  private final QueueMetrics metrics;
  private final ActiveUsersManager users;
  private final QueueUsage usage;
  private volatile List<LoomcardQueue> children = Collections.emptyList();
  private volatile double childWeights;
  private volatile QueueSpec spec;
  private volatile QueueAcl submit;
  private volatile QueueAcl administer;
  private volatile long[] guaranteed;
  private volatile long[] maximum;
  /** Null: only the parent's maximum applies. */
  private volatile long[] cap;
  /** Null: only the queue's limit applies. */
  private volatile long[] userLimit;
  /** Null likewise. */
  private volatile long[] amLimit;

  /** Written under the scheduler's write lock. */
  private volatile long allocationsByPolicy;
  private volatile LabelShares labels = LabelShares.of(Collections.emptyMap());

  LoomcardQueue(String path, LoomcardQueue parent, int types, QueueMetrics metrics) {
    this.path = path;
    this.parent = parent;
    this.metrics = metrics;
    this.users = new ActiveUsersManager(metrics);
    this.usage = new QueueUsage(types);
    this.guaranteed = new long[types];
    this.maximum = new long[types];
    LabelMetrics.available(metrics, "", Resource.newInstance(0, 0)); // see QueueTree.measured
  }

  /** Takes over what a policy configuration says of this queue, after those below it. */
  void configure(QueueSpec newSpec, List<LoomcardQueue> newChildren) {
    submit = new QueueAcl(newSpec.submit);
    administer = new QueueAcl(newSpec.administer);
    spec = newSpec;
    childWeights = weights(newChildren);
    children = Collections.unmodifiableList(new ArrayList<>(newChildren));
  }

  private static double weights(List<LoomcardQueue> queues) {
    double weights = 0;
    for (LoomcardQueue each : queues) {
      if (!each.spec.guaranteed.isShare() || each.spec.guaranteed.ppm > 0) {
        return 0;
      }
      weights += each.spec.weight;
    }
    return weights;
  }

  /** The sum of its children's weights; 0 where one of them states a guarantee. */
  double childWeights() {
    return childWeights;
  }

  /**
   * Computes this queue's amounts, and those of all queues below it, from its parent's.
   *
   * @param parentLabels the parent's amounts on the nodes of each label
   */
  void resize(long[] parentGuaranteed, long[] parentMaximum, LabelShares parentLabels) {
    guaranteed = amounts(spec.guaranteed, parentGuaranteed, 0);
    long[] most = amounts(spec.maximum, parentMaximum, Long.MAX_VALUE);
    for (int i = 0; i < most.length; i++) {
      most[i] = Math.min(most[i], parentMaximum[i]);
    }
    maximum = most;
    cap = spec.maximum.ppm == WHOLE ? null : maximum;
    userLimit = part(spec.userLimitPpm);
    amLimit = part(spec.amSharePpm);
    labels = parentLabels.below(spec, maximum.length);
    for (LoomcardQueue child : children) {
      child.resize(guaranteed, maximum, labels);
    }
  }

  private long[] part(int ppm) {
    return ppm >= WHOLE ? null : Amounts.share(maximum, ppm);
  }

  private static long[] amounts(Limit limit, long[] parent, long absent) {
    if (limit.isShare()) {
      return Amounts.share(parent, limit.ppm);
    }
    String[] names = Amounts.names();
    long[] amounts = new long[parent.length];
    for (int i = 0; i < amounts.length; i++) {
      Long stated = limit.amounts.get(names[i]);
      amounts[i] = stated == null ? absent : stated;
    }
    return amounts;
  }

  /**
   * Returns null when a container of that size may start here, otherwise the reason code of the
   * first rule that forbids it: the maxima along the path, then the leaf's user limit, then its AM
   * share. The policy's mirror has exactly the same rules.
   *
   * @param on the label of the nodes and the one that its ask names; the maximum on a label also
   *     limits what is lent there
   */
  public String refusal(String user, long[] size, boolean isAm, LabelUse on) {
    if (!on.isLent() && !mayUse(on.label)) {
      return ReasonCodes.LABEL;
    }
    String label = on.label;
    for (LoomcardQueue queue = this; queue != null; queue = queue.parent) {
      long[] labelCap = queue.labels.maximum(label);
      if (labelCap != null && !queue.usage.fitsLabel(label, size, labelCap)) {
        return ReasonCodes.QUEUE_MAX;
      }
      if (queue.cap != null && !queue.usage.fits(size, queue.cap)) {
        return ReasonCodes.QUEUE_MAX;
      }
    }
    if (userLimit != null && !usage.fitsUser(user, size, userLimit)) {
      return ReasonCodes.USER_LIMIT;
    }
    return isAm && amLimit != null && !usage.fitsAm(size, amLimit) ? ReasonCodes.AM_LIMIT : null;
  }

  /**
   * Returns null when one more application of a user may get its AM, otherwise the reason code: as
   * many as may run in a queue of the path run.
   */
  public String refusalOfMaster(String user) {
    for (LoomcardQueue queue = this; queue != null; queue = queue.parent) {
      QueueSpec own = queue.spec;
      int most = own.maximumRunningApplications;
      if (most != QueueSpec.NONE && queue.usage.masters() >= most
          || !own.maximumRunningApplicationsPerUser.isEmpty()
              && queue.usage.mastersOf(user) >= own.maximumRunningApplicationsOf(user)) {
        return ReasonCodes.RUNNING_LIMIT;
      }
    }
    return null;
  }

  /**
   * Charges a change of what {@code user} uses, here and in all queues above.
   *
   * @param change amounts added, or removed when they are negative
   * @param count containers added, or removed when it is negative
   */
  public void charge(String user, long[] change, boolean isAm, LabelUse on, int count) {
    for (LoomcardQueue queue = this; queue != null; queue = queue.parent) {
      queue.usage.change(user, change, isAm, on, count);
    }
  }

  /** Moves what a container uses to the nodes of another label. */
  public void relabel(long[] size, LabelUse from, LabelUse to) {
    for (LoomcardQueue queue = this; queue != null; queue = queue.parent) {
      queue.usage.relabel(size, from, to);
    }
  }

  /** Counts a container that a plan placed here. Call it under the scheduler's write lock. */
  public void allocatedByPolicy() {
    allocationsByPolicy++;
  }

  /** Containers that plans placed here since the start. */
  public long allocationsByPolicy() {
    return allocationsByPolicy;
  }

  /**
   * Changes the number of a user's live applications by {@code count}, here and in all queues
   * above.
   */
  public void countApplication(String user, int count) {
    for (LoomcardQueue queue = this; queue != null; queue = queue.parent) {
      queue.usage.changeApplications(user, count);
    }
  }

  /** Whether nodes of this label may be used; nodes without a label always may. */
  public boolean mayUse(String label) {
    return label.isEmpty() || spec.labels == null || spec.labels.contains(label);
  }

  /**
   * What may be reserved for all its asks together. The first reservation is always allowed, unless
   * the limit is 0.
   */
  public long[] reservationLimit() {
    return Amounts.share(maximum, spec.reservationSharePpm);
  }

  /** On how many nodes room may be reserved for one application. */
  public int reservationNodes() {
    return spec.reservationNodes;
  }

  /** Null: only the queue's limit applies. */
  long[] userLimit() {
    return userLimit;
  }

  /**
   * Updates in the metrics what is left on the nodes of each label. It is called rarely, since it
   * costs more than a booking.
   */
  void refreshMetrics(PartitionCapacities partitions, Set<String> labels) {
    for (String label : labels) {
      refreshMetrics(partitions, label);
    }
    for (LoomcardQueue child : children) {
      child.refreshMetrics(partitions, labels);
    }
  }

  /** Updates its own metrics, without those of the queues below it. */
  void refreshMetrics(PartitionCapacities partitions, String label) {
    LabelMetrics.available(metrics, label,
        Amounts.toResource(Headroom.unused(label, this, partitions)));
  }

  public String path() {
    return path;
  }

  public LoomcardQueue parent() {
    return parent;
  }

  /** Whether this is {@code other} or a queue below it. */
  public boolean isWithin(LoomcardQueue other) {
    return this == other || parent != null && parent.isWithin(other);
  }

  public List<LoomcardQueue> children() {
    return children;
  }

  public QueueSpec spec() {
    return spec;
  }

  /** Its number in the policy configuration applied last. */
  public int number() {
    return spec.index;
  }

  public boolean isLeaf() {
    return spec.leaf;
  }

  public long[] used() {
    return usage.used();
  }

  public long[] usedByAms() {
    return usage.usedByAms();
  }

  public long[] usedBy(String user) {
    return usage.usedBy(user);
  }

  public int containers() {
    return usage.containers();
  }

  /** How many applications live here and below. */
  public int applications() {
    return usage.applications();
  }

  /** How many applications may run here: the least number of the path. */
  int mostRunning() {
    int own = spec.maximumRunningApplications;
    int most = own == QueueSpec.NONE ? Integer.MAX_VALUE : own;
    return parent == null ? most : Math.min(most, parent.mostRunning());
  }

  public int applicationsOf(String user) {
    return usage.applicationsOf(user);
  }

  /** What is used on the nodes of this label. */
  public long[] usedOn(String label) {
    return usage.usedOn(label);
  }

  /** Returns the users with the most live applications, at most {@code count}, most first. */
  public Map<String, Integer> busiestUsers(int count) {
    return usage.busiestUsers(count);
  }

  /** The part of {@link #usedOn} that is used for asks without a label. */
  public long[] lentOn(String label) {
    return usage.lentOn(label);
  }

  /** The labels of nodes that it uses, or for which it states something. */
  public Set<String> shownLabels() {
    Set<String> shown = usage.labels();
    shown.remove("");
    shown.addAll(labels.labels());
    return shown;
  }

  /** What it states for the nodes of each label. */
  public LabelShares labelShares() {
    return labels;
  }

  /**
   * The state as YARN sees it: a stopped queue is draining until its last application has ended.
   */
  public QueueState state() {
    boolean open = parent == null || parent.state() == QueueState.RUNNING;
    if (open && spec.state.equals("running")) {
      return QueueState.RUNNING;
    }
    return applications() > 0 ? draining() : QueueState.STOPPED;
  }

  public long[] guaranteed() {
    return guaranteed.clone();
  }

  public long[] maximum() {
    return maximum.clone();
  }

  /** Who may submit here, for messages. */
  public String submitters() {
    return submit + "; administrators: " + administer;
  }

  @Override
  public boolean hasAccess(QueueACL acl, UserGroupInformation user) {
    boolean submits = acl == QueueACL.SUBMIT_APPLICATIONS;
    return administer.names(user) || submits && submit.names(user)
        || administer.allowsGroupOf(user) || submits && submit.allowsGroupOf(user);
  }

  /** Whether groups must be looked up, which may be slow, to know if the user may submit. */
  public boolean needsGroups(UserGroupInformation user) {
    return (administer.hasGroups() || submit.hasGroups())
        && !administer.names(user) && !submit.names(user);
  }

  @Override
  public List<QueueUserACLInfo> getQueueUserAclInfo(UserGroupInformation user) {
    List<QueueACL> granted = new ArrayList<>();
    for (QueueACL acl : QueueACL.values()) {
      if (hasAccess(acl, user)) {
        granted.add(acl);
      }
    }
    List<QueueUserACLInfo> infos = new ArrayList<>();
    infos.add(QueueUserACLInfo.newInstance(path, granted));
    for (LoomcardQueue child : children) {
      infos.addAll(child.getQueueUserAclInfo(user));
    }
    return infos;
  }

  @Override
  public QueueInfo getQueueInfo(boolean includeChildQueues, boolean recursive) {
    return QueueRecords.info(this, includeChildQueues, recursive);
  }

  @Override
  public String getQueueName() {
    return path;
  }

  @Override
  public QueueMetrics getMetrics() {
    return metrics;
  }

  @Override
  public ActiveUsersManager users() {
    return users;
  }

  /**
   * Does nothing: the attempt charges the recovered container, as it knows whether it is the AM's.
   */
  @Override
  public void recoverContainer(Resource cluster, SchedulerApplicationAttempt attempt,
      RMContainer container) {
  }

  @Override
  public Set<String> getAccessibleNodeLabels() {
    return spec.labels == null ? Collections.singleton(RMNodeLabelsManager.ANY)
        : new TreeSet<>(spec.labels);
  }

  @Override
  public String getDefaultNodeLabelExpression() {
    return spec.defaultLabel.isEmpty() ? null : spec.defaultLabel;
  }

  /** The priority of an application that asks for none. */
  public Priority getDefaultApplicationPriority() {
    return Priority.newInstance(spec.defaultPriority);
  }

  @Override
  public String toString() {
    return path + " used " + Arrays.toString(usage.used()) + " of " + Arrays.toString(maximum);
  }
}
