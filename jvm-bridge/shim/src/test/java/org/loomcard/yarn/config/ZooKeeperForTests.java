package org.loomcard.yarn.config;

import java.io.File;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.junit.rules.ExternalResource;
import org.junit.rules.TemporaryFolder;

/** A single ZooKeeper server, on loopback. */
public final class ZooKeeperForTests extends ExternalResource {
  /** Sessions may last 20 ticks of this length: a busy machine must not look like a lost one. */
  private static final int TICK_MS = 3000;
  private final TemporaryFolder folder = new TemporaryFolder();
  private NIOServerCnxnFactory connections;

  /** The address, as in {@code hadoop.zk.address}. */
  public String address() {
    return "127.0.0.1:" + connections.getLocalPort();
  }

  @Override
  protected void before() throws Throwable {
    folder.create();
    File data = folder.newFolder();
    connections = new NIOServerCnxnFactory();
    connections.configure(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 100);
    connections.startup(new ZooKeeperServer(data, data, TICK_MS));
  }

  @Override
  protected void after() {
    connections.shutdown();
    folder.delete();
  }
}
