package org.loomcard.yarn.rehearsal;

import java.util.Collections;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.amlauncher.AMLauncherEvent;
import org.apache.hadoop.yarn.server.resourcemanager.amlauncher.ApplicationMasterLauncher;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore.RMState;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.records.ApplicationStateData;

/** A ResourceManager that starts and ends no AM on any node, and keeps what it recovers from. */
final class RehearsedResourceManager extends ResourceManager {
  private volatile Map<ApplicationId, ApplicationStateData> stored = Collections.emptyMap();

  @Override
  protected ApplicationMasterLauncher createAMLauncher() {
    return new ApplicationMasterLauncher(getRMContext()) {
      @Override
      public synchronized void handle(AMLauncherEvent event) {
        // The containers are the cluster's: whether an AM starts or ends is not for us to say.
      }
    };
  }

  @Override
  public void recover(RMState state) throws Exception {
    stored = state.getApplicationState();
    super.recover(state);
  }

  /** What the state store holds. */
  Map<ApplicationId, ApplicationStateData> stored() {
    return stored;
  }
}
