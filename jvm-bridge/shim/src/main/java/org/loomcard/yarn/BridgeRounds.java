package org.loomcard.yarn;

import java.io.IOException;
import org.loomcard.yarn.bridge.Bridge;
import org.loomcard.yarn.bridge.SwapResult;

/** The rounds of the bridge to the policy process. */
final class BridgeRounds implements Rounds {
  private final Bridge bridge;

  BridgeRounds(Bridge bridge) {
    this.bridge = bridge;
  }

  Bridge bridge() {
    return bridge;
  }

  @Override
  public void load() throws IOException {
    bridge.load();
  }

  @Override
  public void start() {
    bridge.start();
  }

  @Override
  public void signal() {
    bridge.signal();
  }

  @Override
  public void refresh() throws IOException {
    SwapResult result = bridge.refresh();
    if (!result.isApplied()) {
      throw new IOException(result.toString());
    }
  }

  @Override
  public void awaitQuiet(long ms) throws InterruptedException {
    bridge.awaitQuiet(ms);
  }

  @Override
  public void stop() throws InterruptedException {
    bridge.stop();
  }
}
