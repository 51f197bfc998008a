package org.loomcard.yarn;

import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.VersionInfo;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.loomcard.yarn.bridge.Bridge;
import org.loomcard.yarn.bridge.ConfigSwapResult;
import org.loomcard.yarn.bridge.RoundDriver;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.config.StateStore;
import org.loomcard.yarn.metrics.BridgeMetrics;
import org.loomcard.yarn.metrics.ShimMetrics;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.Handshake;

/** Creates the bridge, and loads, starts, refreshes and stops it with the scheduler. */
final class BridgeService {
  private final RoundDriver rounds;
  /** Null when a test drives the rounds. */
  private final BridgeMetrics metrics;
  private volatile boolean loaded;

  BridgeService(RoundDriver rounds, ShimMetrics shim) {
    this.rounds = rounds;
    this.metrics = bridge() == null ? null : new BridgeMetrics(bridge()::status, shim);
  }

  /** Creates the bridge; its policy processes run with the Python that the settings name. */
  static Bridge create(BridgeConfig config, EngineClock clock, SchedulerState state,
      StateStore store) {
    String version = BridgeService.class.getPackage().getImplementationVersion();
    Handshake handshake = new Handshake(config, clock.epochMs(),
        version == null ? "unpackaged" : version, VersionInfo.getVersion(),
        Arrays.asList(Amounts.names()));
    return new Bridge(config, clock, state, Bridge.python(config), handshake, store);
  }

  /** Returns null when a test drives the rounds. */
  Bridge bridge() {
    return rounds instanceof Bridge ? (Bridge) rounds : null;
  }

  /**
   * Loads the configuration in force, once, when this ResourceManager becomes active. A standby
   * must not load it at initialisation: the active ResourceManager may replace it later.
   */
  synchronized void load() throws IOException {
    if (!loaded) {
      rounds.load();
      loaded = true;
    }
  }

  /** Loads it early: attempts are recovered before the scheduler starts, and need the queues. */
  void loadBeforeEvent() {
    if (!loaded) {
      try {
        load();
      } catch (IOException e) {
        throw new YarnRuntimeException(e.getMessage(), e);
      }
    }
  }

  void start() {
    rounds.start();
    if (metrics != null) {
      metrics.register();
    }
  }

  /** Applies the current policy file; throws an exception that says why it was not applied. */
  void refresh() throws IOException {
    ConfigSwapResult result =
        rounds.refresh(UserGroupInformation.getCurrentUser().getShortUserName());
    if (!result.isApplied()) {
      throw new IOException(result.toString());
    }
  }

  void stop() throws InterruptedException {
    if (metrics != null) {
      metrics.unregister();
    }
    rounds.stop();
  }
}
