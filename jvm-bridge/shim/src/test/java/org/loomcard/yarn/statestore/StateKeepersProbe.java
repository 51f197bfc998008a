package org.loomcard.yarn.statestore;

import java.io.IOException;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.loomcard.yarn.policyconfig.BridgeConfig;
import org.loomcard.yarn.policyconfig.StateKeeper;

/** What a ResourceManager's keeper holds, read through a keeper like it. */
public final class StateKeepersProbe {
  private final StateKeeper keeper;

  public StateKeepersProbe(MockRM rm) throws IOException {
    keeper = StateKeepers.of(rm.getRMContext(), rm.getConfig(), new BridgeConfig(rm.getConfig()));
  }

  public boolean holds(String name, String part) {
    try {
      String text = keeper.read(name);
      return text != null && text.contains(part);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
