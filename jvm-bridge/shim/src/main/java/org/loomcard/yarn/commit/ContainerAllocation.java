package org.loomcard.yarn.commit;

import java.util.Map;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger.AuditConstants;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.loomcard.yarn.hadoop.HadoopCalls;
import org.loomcard.yarn.hadoop.YarnRecords;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.LabelUse;
import org.loomcard.yarn.queues.ReasonCodes;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.LoomcardNode;

/**
 * One container of one ask on one node, checked against the scheduler's present state. Create it,
 * check it and carry it out under the scheduler's write lock, and keep the lock in between: then
 * exactly what was checked is allocated.
 */
final class ContainerAllocation {
  private final LoomcardAttempt attempt;
  private final SchedulerRequestKey key;
  private final LoomcardNode node;
  private final boolean isAm;
  private final Map<String, ResourceRequest> rows;
  private Resource size;
  private long[] amounts;
  private NodeType type;
  private LabelUse label;

  ContainerAllocation(LoomcardAttempt attempt, SchedulerRequestKey key, LoomcardNode node) {
    this.attempt = attempt;
    this.key = key;
    this.node = node;
    this.isAm = key.getContainerToUpdate() == null ? attempt.isAmAsk()
        : attempt.application().charges().isAm(key.getContainerToUpdate());
    this.rows = HadoopCalls.rows(attempt, key);
  }

  /** Returns null when one more container may be allocated now; otherwise the reason code. */
  String refusal() {
    return refusal(node.getUnallocatedResource(), true);
  }

  /** Returns the same for the node as if it were empty and had no reservation. */
  String refusalOnEmptyNode() {
    return refusal(node.getTotalResource(), false);
  }

  private String refusal(Resource room, boolean now) {
    ResourceRequest any = rows.get(ResourceRequest.ANY);
    if (attempt.isStopped()) {
      return ReasonCodes.ATTEMPT_GONE;
    }
    if (any == null || any.getNumContainers() <= 0) {
      return ReasonCodes.ASK_GONE;
    }
    size(any);
    String asked = label(any);
    label = new LabelUse(node.getPartition(), asked);
    if (!asked.equals(label.label) && !(asked.isEmpty() && node.isShared())) {
      return ReasonCodes.LABEL;
    }
    if (attempt.isPlaceBlacklisted(node.getNodeName())
        || attempt.isPlaceBlacklisted(node.getRackName())) {
      return ReasonCodes.BLACKLISTED;
    }
    type = placement(any);
    if (type == null) {
      return ReasonCodes.LOCALITY;
    }
    if (!Resources.fitsIn(size, room)) {
      return ReasonCodes.NODE_FULL;
    }
    if (now && node.isReservedForOther(attempt, key, amounts)) {
      return ReasonCodes.NODE_RESERVED;
    }
    String refusal = attempt.loomcardQueue().refusal(attempt.getUser(), amounts, isAm, label);
    boolean starts = isAm && key.getContainerToUpdate() == null;
    return refusal != null || !starts ? refusal
        : attempt.loomcardQueue().refusalOfMaster(attempt.getUser());
  }

  private void size(ResourceRequest any) {
    if (size != any.getCapability()) {
      size = any.getCapability();
      amounts = Amounts.of(size);
    }
  }

  private static String label(ResourceRequest any) {
    String label = any.getNodeLabelExpression();
    return label == null ? "" : label;
  }

  /**
   * Returns the nearest kind of place that the ask still allows on this node; null when it allows
   * none. The rules are CapacityScheduler's: a row for the host counts only with one for its rack.
   * In a rack whose row is strict only the named hosts are allowed.
   */
  private NodeType placement(ResourceRequest any) {
    ResourceRequest rack = rows.get(node.getRackName());
    boolean onRack = rack != null && rack.getNumContainers() > 0;
    if (onRack) {
      ResourceRequest host = rows.get(node.getNodeName());
      if (host != null && host.getNumContainers() > 0) {
        return NodeType.NODE_LOCAL;
      }
      return rack.getRelaxLocality() ? NodeType.RACK_LOCAL : null;
    }
    return any.getRelaxLocality() ? NodeType.OFF_SWITCH : null;
  }

  /** Allocates the container, after {@link #refusal} returned null. */
  RMContainer carryOut() {
    NodeType asked = rows.size() == 1 ? NodeType.OFF_SWITCH : NodeType.NODE_LOCAL;
    ContainerId id = BuilderUtils.newContainerId(attempt.getApplicationAttemptId(),
        attempt.getNewContainerId());
    Container container = YarnRecords.newContainer(id, node.getNodeID(), node.getHttpAddress(),
        size, key);
    RMContainer allocated = attempt.allocate(type, node, key, container);
    node.allocateContainer(allocated);
    node.allocated(attempt, key);
    if (key.getContainerToUpdate() == null) {
      attempt.application().charges().add(id, amounts, isAm, label);
    } else {
      attempt.application().charges().grow(id, key.getContainerToUpdate(), amounts, label);
    }
    attempt.incNumAllocatedContainers(type, asked);
    HadoopCalls.audit(AuditConstants.ALLOC_CONTAINER, attempt, container);
    return allocated;
  }

  /** The size of one container, once it was checked. */
  long[] amounts() {
    return amounts;
  }

  boolean isAm() {
    return isAm;
  }

  /** Whether nothing more of the ask is outstanding. */
  boolean isExhausted() {
    ResourceRequest any = rows.get(ResourceRequest.ANY);
    return any == null || any.getNumContainers() <= 0;
  }
}
