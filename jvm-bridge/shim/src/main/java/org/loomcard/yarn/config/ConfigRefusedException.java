package org.loomcard.yarn.config;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A policy configuration cannot replace the present one while some applications are live. */
public final class ConfigRefusedException extends Exception {
  private static final long serialVersionUID = 1L;
  private final ArrayList<String> applications;

  /**
   * @param message one sentence: which queues, and what to do
   * @param applications the ids of the applications that prevent it
   */
  public ConfigRefusedException(String message, List<String> applications) {
    super(message);
    this.applications = new ArrayList<>(applications);
  }

  public List<String> applications() {
    return Collections.unmodifiableList(applications);
  }
}
