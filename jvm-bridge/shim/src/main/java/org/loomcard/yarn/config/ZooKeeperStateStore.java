package org.loomcard.yarn.config;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.curator.ZKCuratorManager;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.RMFatalEvent;
import org.apache.hadoop.yarn.server.resourcemanager.RMFatalEventType;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.ACL;

/**
 * Nodes beside those of YARN's {@link ZKRMStateStore}, with its ACLs, its credentials and its
 * fencing. Every write is one transaction with the store's lock, which only the ResourceManager
 * that became active last may take.
 */
final class ZooKeeperStateStore implements StateStore {
  private static final int ROOM_FOR_REQUEST = 1024;
  private final RMContext context;
  private final List<ACL> acl;
  private final String root;
  private final String fence;
  private final int longest;
  private final Configuration conf;
  private ZKCuratorManager connection;

  ZooKeeperStateStore(RMContext context, Configuration conf) throws IOException {
    this.context = context;
    this.conf = conf;
    this.acl = ZKCuratorManager.getZKAcls(conf);
    String parent = conf.get(YarnConfiguration.ZK_RM_STATE_STORE_PARENT_PATH,
        YarnConfiguration.DEFAULT_ZK_RM_STATE_STORE_PARENT_PATH);
    this.root = ZKCuratorManager.getNodePath(parent, "loomcard");
    this.fence = ZKCuratorManager.getNodePath(
        ZKCuratorManager.getNodePath(parent, ZKRMStateStore.ROOT_ZNODE_NAME), "RM_ZK_FENCING_LOCK");
    this.longest = conf.getInt(YarnConfiguration.RM_ZK_ZNODE_SIZE_LIMIT_BYTES,
        YarnConfiguration.DEFAULT_RM_ZK_ZNODE_SIZE_LIMIT_BYTES) - ROOM_FOR_REQUEST;
  }

  private synchronized ZKCuratorManager connection() throws IOException {
    if (connection == null) {
      connection = context.getResourceManager().createAndStartZKManager(conf);
    }
    return connection;
  }

  @Override
  public synchronized void close() {
    if (connection != null) {
      connection.close();
      connection = null;
    }
  }

  private interface Call<T> {
    T with(ZKCuratorManager zooKeeper) throws Exception;
  }

  private <T> T call(String name, Call<T> call) throws IOException {
    try {
      return call.with(connection());
    } catch (KeeperException.NoAuthException e) {
      IOException fenced = new IOException(place(name)
          + ": another ResourceManager has become active; this one steps back", e);
      context.getDispatcher().getEventHandler().handle(
          new RMFatalEvent(RMFatalEventType.STATE_STORE_FENCED, fenced));
      throw fenced;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(place(name) + ": interrupted", e);
    } catch (Exception e) {
      throw new IOException(place(name) + ": " + e, e);
    }
  }

  @Override
  public String read(String name) throws IOException {
    return call(name, zooKeeper -> {
      try {
        return new String(zooKeeper.getData(path(name)), StandardCharsets.UTF_8);
      } catch (KeeperException.NoNodeException e) {
        return null;
      }
    });
  }

  @Override
  public void write(String name, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (bytes.length > longest) {
      throw new IOException(place(name) + ": " + bytes.length + " bytes are more than a node holds;"
          + " raise " + YarnConfiguration.RM_ZK_ZNODE_SIZE_LIMIT_BYTES + " here and jute.maxbuffer "
          + "of ZooKeeper, or shorten the policy file");
    }
    call(name, zooKeeper -> {
      if (!zooKeeper.exists(root)) {
        zooKeeper.safeCreate(root, new byte[0], acl, CreateMode.PERSISTENT, acl, fence);
      }
      if (zooKeeper.exists(path(name))) {
        zooKeeper.safeSetData(path(name), bytes, -1, acl, fence);
      } else {
        zooKeeper.safeCreate(path(name), bytes, acl, CreateMode.PERSISTENT, acl, fence);
      }
      return null;
    });
  }

  @Override
  public void delete(String name) throws IOException {
    call(name, zooKeeper -> {
      zooKeeper.safeDelete(path(name), acl, fence);
      return null;
    });
  }

  @Override
  public List<String> names() throws IOException {
    return call("", zooKeeper -> zooKeeper.exists(root)
        ? zooKeeper.getChildren(root) : Collections.<String>emptyList());
  }

  @Override
  public boolean isShared() {
    return true;
  }

  @Override
  public String place(String name) {
    return "ZooKeeper " + path(name);
  }

  private String path(String name) {
    return name.isEmpty() ? root : root + "/" + name;
  }
}
