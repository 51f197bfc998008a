package org.loomcard.yarn.embedded;

import java.io.File;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;

/**
 * One real NodeManager with a host name and folders of its own.
 *
 * <p>The name must resolve, forwards and backwards, in every JVM of the cluster. The hosts file
 * that the launcher passes as {@code jdk.net.hosts.file} makes sure of that.
 */
final class NodeHost {
  private final Machine machine;
  private final Configuration shared;
  private final File home;
  private final AtomicReference<NodeManager> running = new AtomicReference<>();

  NodeHost(Machine machine, Configuration shared, File home) {
    this.machine = machine;
    this.shared = shared;
    this.home = home;
  }

  String name() {
    return machine.name;
  }

  /** Starts the NodeManager; it registers with the ResourceManager while it starts. */
  void start() {
    NodeManager node = new NodeDaemon();
    if (!running.compareAndSet(null, node)) {
      throw new IllegalStateException("node " + name() + " runs already");
    }
    NodeDaemon.forgetResources();
    node.init(configuration());
    node.start();
  }

  /** Stops the NodeManager and with it every container on it; does nothing if none runs. */
  void stop() {
    NodeManager node = running.getAndSet(null);
    if (node != null) {
      node.stop();
    }
  }

  private Configuration configuration() {
    YarnConfiguration conf = new YarnConfiguration(shared);
    conf.set(YarnConfiguration.NM_ADDRESS, name() + ":0");
    conf.set(YarnConfiguration.NM_LOCALIZER_ADDRESS, name() + ":0");
    conf.set("yarn.nodemanager.collector-service.address", name() + ":0");
    conf.set(YarnConfiguration.NM_WEBAPP_ADDRESS, name() + ":0");
    conf.set(YarnConfiguration.NM_LOCAL_DIRS, folder("local"));
    conf.set(YarnConfiguration.NM_LOG_DIRS, folder("logs"));
    conf.set(YarnConfiguration.NM_REMOTE_APP_LOG_DIR, folder("aggregated"));
    // The shuffle handler of each node listens on a port of its own.
    conf.setInt("mapreduce.shuffle.port", 0);
    machine.declare(conf);
    return conf;
  }

  private String folder(String kind) {
    return new File(new File(home, name()), kind).getAbsolutePath();
  }
}
