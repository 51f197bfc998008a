package org.loomcard.yarn.books;

import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.loomcard.yarn.bridge.ContainerText;
import org.loomcard.yarn.queues.Amounts;

/** A container as the policy knows it, from its grant until its room on the node is free again. */
public final class ContainerEntry {
  final long number;
  final LoomcardApplication application;
  final LoomcardNode node;
  final boolean isAm;
  final String origin;
  private final RMContainer container;
  private String endKind;
  private int exitStatus;

  ContainerEntry(long number, LoomcardAttempt attempt, LoomcardNode node, RMContainer container,
      boolean isAm,
      String origin) {
    this.number = number;
    this.application = attempt.application();
    this.node = node;
    this.container = container;
    this.isAm = isAm;
    this.origin = origin;
  }

  public RMContainer container() {
    return container;
  }

  public LoomcardNode node() {
    return node;
  }

  public boolean isAm() {
    return isAm;
  }

  /** Whether YARN has ended it; only its room on the node is not free yet. */
  public synchronized boolean isEnding() {
    return endKind != null;
  }

  /** The first end counts. */
  synchronized void end(String kind, int status) {
    if (endKind == null) {
      endKind = kind;
      exitStatus = status;
    }
  }

  synchronized String endKind() {
    return endKind == null ? "completed" : endKind;
  }

  synchronized int exitStatus() {
    return exitStatus;
  }

  boolean isRunning() {
    return container.getState() == RMContainerState.RUNNING;
  }

  /**
   * As a record; it stands under the application's latest attempt, the only one that a snapshot
   * names.
   */
  ContainerText text() {
    Container granted = container.getContainer();
    return new ContainerText(number, application.attempt().number(),
        container.getContainerId().getContainerId(),
        node.number(), Amounts.of(granted.getResource()), granted.getPriority().getPriority(),
        granted.getAllocationRequestId(), isAm, isRunning() || isEnding() ? "running" : "allocated",
        origin);
  }
}
