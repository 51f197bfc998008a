package org.loomcard.yarn.rehearsal;

import java.io.File;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.loomcard.yarn.config.BridgeConfig;

/**
 * What a rehearsal changes in the configuration: it must not listen where the cluster calls, write
 * where the cluster reads, or notify anything outside. What is set here overrides {@code final}.
 */
final class RehearsalSettings {
  private static final String RM = "yarn.resourcemanager.";
  private static final String ANY_PORT = "127.0.0.1:0";
  private static final String[] ADDRESSES = {
      "address", "scheduler.address", "resource-tracker.address", "admin.address",
      "webapp.address", "webapp.https.address",
  };
  /** What publishes, leads an election, or starts its own services. */
  private static final String[] OFF = {
      RM + "ha.enabled", "yarn.federation.enabled", "hadoop.registry.rm.enabled",
      "yarn.timeline-service.enabled", "yarn.timeline-service.generic-application-history.enabled",
      "yarn.system-metrics-publisher.enabled", "yarn.webapp.api-service.enable",
      "hadoop.security.authorization",
  };

  private RehearsalSettings() {
  }

  /** Changes the configuration; everything is written below {@code scratch}. */
  static void apply(Configuration conf, File scratch) {
    conf.set(RM + "hostname", "127.0.0.1");
    conf.set(RM + "bind-host", "127.0.0.1");
    for (String address : ADDRESSES) {
      conf.set(RM + address, ANY_PORT);
    }
    for (String key : OFF) {
      conf.setBoolean(key, false);
    }
    // No user's tickets or tokens are used: an application that ends would have its own cancelled.
    conf.set("hadoop.security.authentication", "simple");
    conf.set("hadoop.http.authentication.type", "simple");
    conf.set("hadoop.http.filter.initializers", "org.apache.hadoop.http.lib.StaticUserWebFilter");
    conf.set("yarn.http.policy", "HTTP_ONLY");
    conf.set("hadoop.tmp.dir", new File(scratch, "tmp").getPath());
    // The AMs call the ResourceManager that runs in the cluster; this one does not wait for them.
    conf.setLong("yarn.am.liveness-monitor.expiry-interval-ms", TimeUnit.DAYS.toMillis(1));
    conf.setLong(RM + "am-rm-tokens.master-key-rolling-interval-secs", TimeUnit.DAYS.toSeconds(4));
    File state = new File(scratch, "state");
    conf.set(BridgeConfig.STATE_DIR, state.getPath());
    conf.set(BridgeConfig.JOURNAL_DIR, new File(state, "journal").getPath());
    conf.set(BridgeConfig.POLICY_FILE, new File(state, "policy.yml").getPath());
    File setup = new File(scratch, "setup.json");
    if (setup.exists()) {
      conf.set(BridgeConfig.SETUP_PATH, setup.getPath());
    }
  }
}
