package org.loomcard.yarn.config;

import java.io.File;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.conf.HAUtil;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore;

/** Chooses where the applied configuration is kept: with the ResourceManager's own state. */
public final class StateStores {
  private StateStores() {
  }

  /**
   * Returns the store that fits the ResourceManager's state store: ZooKeeper, a file system of the
   * cluster, or otherwise the local folder.
   *
   * @throws IOException when the local folder cannot be written, or when two ResourceManagers would
   *     keep different configurations; the message names the setting and what to do
   */
  public static StateStore of(RMContext context, Configuration conf, BridgeConfig settings)
      throws IOException {
    LocalStateStore local = new LocalStateStore(settings.stateDir);
    local.check(BridgeConfig.STATE_DIR);
    RMStateStore store = context == null ? null : context.getStateStore();
    if (store instanceof ZKRMStateStore) {
      return new ZooKeeperStateStore(context, conf);
    }
    boolean pair = HAUtil.isHAEnabled(conf);
    if (store instanceof FileSystemRMStateStore) {
      Path root = new Path(conf.get(YarnConfiguration.FS_RM_STATE_STORE_URI));
      boolean here = "file".equals(root.getFileSystem(conf).getScheme());
      if (!here) {
        return new FileSystemStateStore(root, conf);
      }
      if (pair && settings.stateShared) {
        return new LocalStateStore(new File(root.toUri().getPath(), "loomcard"), true);
      }
    }
    // A store in memory has a pair only in tests, which run it in one process.
    if (pair && !settings.stateShared && !(store instanceof MemoryRMStateStore)) {
      throw new IOException(YarnConfiguration.RM_HA_ENABLED + " = true with "
          + (store == null ? "no state store" : store.getClass().getSimpleName()) + " on this "
          + "machine alone: after a fail-over another policy would govern. Set "
          + YarnConfiguration.RECOVERY_ENABLED + " = true and " + YarnConfiguration.RM_STORE + " = "
          + ZKRMStateStore.class.getName() + ", or " + BridgeConfig.STATE_SHARED
          + " = true where every ResourceManager sees the same folders.");
    }
    return local;
  }
}
