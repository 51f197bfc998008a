package org.loomcard.yarn.chaos;

import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.net.NetUtils;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.loomcard.yarn.chaos.load.CommandLoop;

/**
 * A single ZooKeeper server; through it a pair of ResourceManagers agrees on which one is active.
 * The argument is the configuration that names its address and its folder.
 */
public final class ChaosZooKeeper {
  /** The server's folder. */
  static final String FOLDER = "loomcard.chaos.zookeeper.dir";
  private static final int TICK_MS = 1000;
  private static final int MAX_CONNECTIONS = 100;

  private ChaosZooKeeper() {
  }

  /** Starts it and serves commands until standard input ends; the only command is "ready". */
  public static void main(String[] arguments) throws Exception {
    CommandLoop commands = new CommandLoop();
    Configuration conf = new Configuration(false);
    conf.addResource(new Path(new File(arguments[0]).toURI()));
    File data = new File(conf.get(FOLDER));
    NIOServerCnxnFactory connections = new NIOServerCnxnFactory();
    connections.configure(NetUtils.createSocketAddr(conf.get("hadoop.zk.address")),
        MAX_CONNECTIONS);
    connections.startup(new ZooKeeperServer(data, data, TICK_MS));
    commands.serve((name, command) -> {
      if (!"ready".equals(name)) {
        throw new IllegalArgumentException("unknown command " + name);
      }
      return connections.getLocalPort();
    });
    System.exit(0);
  }
}
