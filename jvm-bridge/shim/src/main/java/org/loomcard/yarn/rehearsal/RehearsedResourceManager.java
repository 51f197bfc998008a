package org.loomcard.yarn.rehearsal;

import java.util.Collections;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.amlauncher.AMLauncherEvent;
import org.apache.hadoop.yarn.server.resourcemanager.amlauncher.ApplicationMasterLauncher;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore.RMState;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.records.ApplicationStateData;

/**
 * A ResourceManager that starts and ends no AM on any node, and does not change the state that it
 * recovers from.
 */
final class RehearsedResourceManager extends ResourceManager {
  private volatile Map<ApplicationId, ApplicationStateData> stored = Collections.emptyMap();

  @Override
  protected ApplicationMasterLauncher createAMLauncher() {
    return new ApplicationMasterLauncher(getRMContext()) {
      @Override
      public synchronized void handle(AMLauncherEvent event) {
        // The containers are the cluster's: a rehearsal must not start or end an AM.
      }
    };
  }

  @Override
  public void recover(RMState state) throws Exception {
    stored = state.getApplicationState();
    super.recover(state);
  }

  /** Returns the applications in the state store. */
  Map<ApplicationId, ApplicationStateData> stored() {
    return stored;
  }
}
