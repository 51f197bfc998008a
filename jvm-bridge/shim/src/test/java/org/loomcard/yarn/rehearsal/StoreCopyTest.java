package org.loomcard.yarn.rehearsal;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.LeveldbRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStoreFactory;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler;
import org.junit.After;
import org.junit.Rule;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.junit.rules.TemporaryFolder;
import org.loomcard.yarn.Slow;
import org.loomcard.yarn.config.ZooKeeperForTests;

/** The stored state of a ResourceManager, copied while it runs, can be recovered from the copy. */
@Category(Slow.class)
public final class StoreCopyTest {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();
  @Rule public final ZooKeeperForTests zooKeeper = new ZooKeeperForTests();
  private final YarnConfiguration conf = new YarnConfiguration();
  private MockRM rm;

  @After
  public void stop() {
    if (rm != null) {
      rm.stop();
    }
  }

  private File scratch() {
    return new File(folder.getRoot(), "scratch");
  }

  /** Starts a ResourceManager with such a store; returns the applications that it has stored. */
  private Set<ApplicationId> started(Class<? extends RMStateStore> store) throws Exception {
    conf.setClass(YarnConfiguration.RM_SCHEDULER, FifoScheduler.class, FifoScheduler.class);
    conf.setBoolean(YarnConfiguration.RECOVERY_ENABLED, true);
    conf.set(YarnConfiguration.RM_STORE, store.getName());
    conf.set(YarnConfiguration.FS_RM_STATE_STORE_URI,
        new File(folder.getRoot(), "files").toURI().toString());
    conf.set(YarnConfiguration.RM_LEVELDB_STORE_PATH,
        new File(folder.getRoot(), "leveldb").getPath());
    conf.set("hadoop.zk.address", zooKeeper.address());
    rm = new MockRM(conf);
    rm.start();
    Set<ApplicationId> submitted = new HashSet<>();
    for (int i = 0; i < 3; i++) {
      submitted.add(MockRMAppSubmitter.submitWithMemory(512, rm).getApplicationId());
    }
    rm.drainEvents();
    return submitted;
  }

  /** Returns the content of a store of the configuration. */
  private Set<ApplicationId> stored() throws Exception {
    RMStateStore store = RMStateStoreFactory.getStore(conf);
    store.init(conf);
    store.start();
    try {
      return new HashSet<>(store.loadState().getApplicationState().keySet());
    } finally {
      store.stop();
    }
  }

  @Test
  public void filesAreCopied() throws Exception {
    Set<ApplicationId> submitted = started(FileSystemRMStateStore.class);
    assertTrue(new StoreCopy(conf, scratch()).make().endsWith("/files"));
    assertEquals(submitted, stored());
  }

  /** The database is copied while it is open and locked. */
  @Test
  public void leveldbIsCopiedWhileItIsOpen() throws Exception {
    Set<ApplicationId> submitted = started(LeveldbRMStateStore.class);
    new StoreCopy(conf, scratch()).make();
    assertEquals(submitted, stored());
  }

  /**
   * The copy works whether the names of applications are cut in two there or not, and by YARN's
   * name of ZooKeeper's address, which Hadoop 3.5 does not take for Hadoop's.
   */
  @Test
  public void zooKeeperIsReadIntoFiles() throws Exception {
    for (int cut = 0; cut <= 4; cut += 2) {
      conf.setInt(YarnConfiguration.ZK_APPID_NODE_SPLIT_INDEX, cut);
      conf.set(YarnConfiguration.ZK_RM_STATE_STORE_PARENT_PATH, "/store" + cut);
      Set<ApplicationId> submitted = started(ZKRMStateStore.class);
      YarnConfiguration original = new YarnConfiguration(conf);
      original.unset("hadoop.zk.address");
      original.set("yarn.resourcemanager.zk-address", zooKeeper.address());
      new ZooKeeperCopy(original, new File(scratch(), "z" + cut)).make();
      conf.set(YarnConfiguration.RM_STORE, FileSystemRMStateStore.class.getName());
      conf.set(YarnConfiguration.FS_RM_STATE_STORE_URI,
          new File(scratch(), "z" + cut).toURI().toString());
      assertEquals(submitted, stored());
      rm.stop();
    }
  }

  /** A store whose state nothing outside can see. */
  @Test
  public void oneThatCannotBeCopiedIsRefused() throws Exception {
    started(MemoryRMStateStore.class);
    IOException refused =
        assertThrows(IOException.class, () -> new StoreCopy(conf, scratch()).make());
    assertTrue(refused.getMessage().contains("MemoryRMStateStore cannot be copied"));
  }
}
