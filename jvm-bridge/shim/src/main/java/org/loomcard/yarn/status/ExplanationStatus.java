package org.loomcard.yarn.status;

import java.util.List;

/** Why an application or a queue waits: the policy process's part, and what only Java knows. */
public final class ExplanationStatus {
  /** The policy process's document as JSON; null: it knows nothing of it, or does not answer. */
  public final String document;
  /** YARN's state of the application; null for a queue. */
  public final String state;
  /** YARN's diagnostics of the application; null for a queue. */
  public final String diagnostics;
  /** Nodes that YARN knows and that take no container, each with the reason. */
  public final List<String> unusableNodes;

  /** Creates it from its parts. */
  public ExplanationStatus(String document, String state, String diagnostics,
      List<String> unusableNodes) {
    this.document = document;
    this.state = state;
    this.diagnostics = diagnostics;
    this.unusableNodes = unusableNodes;
  }
}
