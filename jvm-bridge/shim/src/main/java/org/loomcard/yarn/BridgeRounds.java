package org.loomcard.yarn;

import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.VersionInfo;
import org.loomcard.yarn.amounts.Amounts;
import org.loomcard.yarn.bridge.Bridge;
import org.loomcard.yarn.metrics.BridgeMetrics;
import org.loomcard.yarn.metrics.ShimMetrics;
import org.loomcard.yarn.policyconfig.BridgeConfig;
import org.loomcard.yarn.policyconfig.StateKeeper;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.swap.ConfigSwapResult;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.Handshake;

/** The rounds of the bridge to the policy process. */
final class BridgeRounds implements Rounds {
  private final Bridge bridge;
  /** YARN's own tests expect decisions at a node's heartbeat and at no other time. */
  private final boolean onHeartbeatsOnly;
  private final BridgeMetrics metrics;

  BridgeRounds(Bridge bridge, boolean onHeartbeatsOnly, ShimMetrics shim) {
    this.bridge = bridge;
    this.metrics = new BridgeMetrics(bridge::status, shim);
    this.onHeartbeatsOnly = onHeartbeatsOnly;
  }

  /** The real thing: with the Python of the settings. */
  static BridgeRounds of(BridgeConfig config, EngineClock clock, SchedulerState books,
      StateKeeper keeper, ShimMetrics shim) {
    String version = BridgeRounds.class.getPackage().getImplementationVersion();
    Handshake handshake = new Handshake(config, clock.epochMs(),
        version == null ? "unpackaged" : version, VersionInfo.getVersion(),
        Arrays.asList(Amounts.names()));
    return new BridgeRounds(
        new Bridge(config, clock, books, Bridge.python(config), handshake, keeper),
        config.inlineWaitMs > 0, shim);
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
    metrics.register();
  }

  @Override
  public void signal() {
    if (!onHeartbeatsOnly) {
      bridge.signal();
    }
  }

  @Override
  public void signalDemand() {
    if (!onHeartbeatsOnly) {
      bridge.signalDemand();
    }
  }

  @Override
  public void refresh() throws IOException {
    ConfigSwapResult result =
        bridge.refresh(UserGroupInformation.getCurrentUser().getShortUserName());
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
    metrics.unregister();
    bridge.stop();
  }
}
