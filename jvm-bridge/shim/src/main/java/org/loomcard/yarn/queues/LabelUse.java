package org.loomcard.yarn.queues;

/** On nodes of which label a container runs, and for which label it was asked. A value. */
public final class LabelUse {
  /** The label of its node; empty for none. */
  public final String label;
  private final String asked;

  public LabelUse(String label, String asked) {
    this.label = label;
    this.asked = asked;
  }

  /** The same container, whose node has another label now. */
  public LabelUse on(String other) {
    return new LabelUse(other, asked);
  }

  /** Whether its room belongs to a label that its ask does not name. */
  public boolean isLent() {
    return asked.isEmpty() && !label.isEmpty();
  }
}
