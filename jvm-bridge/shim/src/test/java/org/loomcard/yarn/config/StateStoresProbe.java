package org.loomcard.yarn.config;

import java.io.IOException;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;

/** Reads the content of a ResourceManager's keeper through a keeper of the same kind. */
public final class StateStoresProbe {
  private final StateStore store;

  public StateStoresProbe(MockRM rm) throws IOException {
    store = StateStores.of(rm.getRMContext(), rm.getConfig(), new BridgeConfig(rm.getConfig()));
  }

  public boolean reservations(String name, String part) {
    try {
      String text = store.read(name);
      return text != null && text.contains(part);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
