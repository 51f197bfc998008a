package org.loomcard.yarn.rehearsal;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.util.curator.ZKCuratorManager;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore;
import org.apache.zookeeper.KeeperException;

/**
 * Copies the applications in a {@link ZKRMStateStore} to the form in which a FileSystemRMStateStore
 * keeps them: the texts are the same. It only reads; the store's lock is left to the
 * ResourceManager.
 */
final class ZooKeeperCopy {
  private static final String APPLICATIONS = "RMAppRoot";
  private final Configuration conf;
  private final File target;
  private ZKCuratorManager connection;

  /** @param target the root folder of the store to write */
  ZooKeeperCopy(Configuration conf, File target) {
    this.conf = conf;
    this.target = new File(target, "FSRMStateRoot/" + APPLICATIONS);
  }

  /** Copies everything; returns where it was read, for people. */
  String make() throws IOException {
    String parent = conf.get(YarnConfiguration.ZK_RM_STATE_STORE_PARENT_PATH,
        YarnConfiguration.DEFAULT_ZK_RM_STATE_STORE_PARENT_PATH);
    String root = ZKCuratorManager.getNodePath(
        ZKCuratorManager.getNodePath(parent, ZKRMStateStore.ROOT_ZNODE_NAME), APPLICATIONS);
    connection = new ZKCuratorManager(addressed());
    try {
      connection.start();
      if (!connection.exists(root)) {
        return "ZooKeeper " + root + ": nothing is there";
      }
      copy(root, "", null);
      return "ZooKeeper " + root + " (copied into files)";
    } catch (IOException e) {
      throw e;
    } catch (Exception e) { // Curator throws any exception
      throw new IOException("ZooKeeper " + root + " cannot be read: " + e, e);
    } finally {
      connection.close();
    }
  }

  /**
   * Returns the configuration with the address that the ResourceManager uses: that of Hadoop 3.5
   * prefers YARN's own name, which the other lines take for Hadoop's.
   */
  private Configuration addressed() {
    Configuration addressed = new Configuration(conf);
    String address = conf.get(YarnConfiguration.RM_ZK_ADDRESS);
    if (address != null) {
      addressed.set(CommonConfigurationKeys.ZK_ADDRESS, address);
    }
    return addressed;
  }

  /**
   * Copies what is below a node. A name may be cut in two: the rest is then the name of a child.
   * Hierarchies beside the flat one repeat its form below a number.
   *
   * @param application the folder of the application that has this node; null above them
   */
  private void copy(String node, String begun, File application) throws Exception {
    for (String child : connection.getChildren(node)) {
      String path = ZKCuratorManager.getNodePath(node, child);
      String name = begun + child;
      try {
        if (application != null || name.matches("application_\\d+_\\d{4,}")) {
          File folder = application != null ? application : new File(target, name);
          Files.createDirectories(folder.toPath());
          Files.write(new File(folder, name).toPath(), connection.getData(path));
          if (application == null) {
            copy(path, "", folder);
          }
        } else {
          copy(path, name.startsWith("application_") ? name : "", null);
        }
      } catch (KeeperException.NoNodeException e) {
        continue; // the application has just been removed
      }
    }
  }
}
