package org.loomcard.yarn.player.context;

import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerStatus;

/** How a container ended, in the words of containers.parquet. */
public enum End {
  COMPLETED, FAILED, KILLED, RELEASED, EXPIRED, LOST, PREEMPTED;

  private static final String EXPIRED_TEXT = "Container expired";

  /** Reads the ResourceManager's status; {@code released}: the application master gave it back. */
  public static End of(ContainerStatus status, boolean released) {
    switch (status.getExitStatus()) {
      case ContainerExitStatus.SUCCESS:
        return COMPLETED;
      case ContainerExitStatus.PREEMPTED:
        return PREEMPTED;
      case ContainerExitStatus.ABORTED:
        if (released) {
          return RELEASED;
        }
        return status.getDiagnostics().startsWith(EXPIRED_TEXT) ? EXPIRED : LOST;
      case ContainerExitStatus.KILLED_BY_RESOURCEMANAGER:
      case ContainerExitStatus.KILLED_BY_APPMASTER:
      case ContainerExitStatus.KILLED_AFTER_APP_COMPLETION:
        return KILLED;
      default:
        return FAILED;
    }
  }

  public String word() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }
}
