package org.loomcard.yarn;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.loomcard.yarn.books.HadoopLine;
import org.loomcard.yarn.books.Ledger;
import org.loomcard.yarn.books.LoomcardApplication;
import org.loomcard.yarn.books.LoomcardAttempt;
import org.loomcard.yarn.books.LoomcardNode;

/**
 * What serves the cluster while no policy process can: applications in order of arrival, asks in
 * order of priority, nodes by number, near places first. An ask that fits nowhere blocks nobody.
 */
final class FifoFallback {
  private final Ledger ledger;
  private final PlanCommitter committer;
  private final Resource least;

  /** @param least nodes with less room than this are passed over */
  FifoFallback(Ledger ledger, PlanCommitter committer, Resource least) {
    this.ledger = ledger;
    this.committer = committer;
    this.least = least;
  }

  /**
   * Grants what fits and returns how many containers that was. The caller holds the scheduler's
   * write lock.
   */
  int round() {
    List<LoomcardNode> nodes = new ArrayList<>();
    for (LoomcardNode node : ledger.nodes()) {
      if (hasRoom(node)) {
        nodes.add(node);
      }
    }
    int granted = 0;
    Iterator<LoomcardApplication> applications = ledger.applications().iterator();
    while (applications.hasNext() && !nodes.isEmpty()) {
      LoomcardAttempt attempt = applications.next().attempt();
      if (attempt != null && !attempt.isStopped()) {
        granted += serve(attempt, nodes);
      }
    }
    return granted;
  }

  private boolean hasRoom(LoomcardNode node) {
    return Resources.fitsIn(least, node.getUnallocatedResource());
  }

  private int serve(LoomcardAttempt attempt, List<LoomcardNode> nodes) {
    int granted = 0;
    for (SchedulerRequestKey key : new ArrayList<>(attempt.getSchedulerKeys())) {
      if (key.getContainerToUpdate() != null) {
        continue;
      }
      for (LoomcardNode node : nearestFirst(attempt, key, nodes)) {
        while (committer.grantByFallback(attempt, key, node)) {
          granted++;
        }
        if (attempt.getOutstandingAsksCount(key) <= 0) {
          break;
        }
      }
      nodes.removeIf(node -> !hasRoom(node));
    }
    return granted;
  }

  private static List<LoomcardNode> nearestFirst(LoomcardAttempt attempt, SchedulerRequestKey key,
      List<LoomcardNode> nodes) {
    Map<String, ResourceRequest> rows = HadoopLine.rows(attempt, key);
    if (rows.size() <= 1) {
      return nodes;
    }
    List<LoomcardNode> sorted = new ArrayList<>(nodes);
    sorted.sort(Comparator.comparingInt(
        node -> rows.containsKey(node.getNodeName()) ? 0
            : rows.containsKey(node.getRackName()) ? 1 : 2));
    return sorted;
  }
}
