package org.loomcard.yarn;

import java.io.IOException;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.loomcard.yarn.bridge.BridgeConfig;
import org.loomcard.yarn.bridge.StateKeeper;

/** What a ResourceManager's keeper holds, read through a keeper like it. */
final class StateKeepersProbe {
  private final StateKeeper keeper;

  StateKeepersProbe(MockRM rm) throws IOException {
    keeper = StateKeepers.of(rm.getRMContext(), rm.getConfig(), new BridgeConfig(rm.getConfig()));
  }

  boolean holds(String name, String part) {
    try {
      String text = keeper.read(name);
      return text != null && text.contains(part);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
