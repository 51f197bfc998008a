package org.loomcard.yarn.config;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Collections;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.LeveldbRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.NullRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Where the applied configuration is stored, and which settings cannot work. */
public class StateStoresTest {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();
  private final Configuration conf = new YarnConfiguration();

  @Before
  public void settings() {
    conf.set(BridgeConfig.STATE_DIR, new File(folder.getRoot(), "state").getPath());
    conf.set(YarnConfiguration.FS_RM_STATE_STORE_URI, folder.getRoot().toURI() + "rm-state");
  }

  private StateStore store(Class<? extends RMStateStore> store) throws IOException {
    RMContext context = mock(RMContext.class);
    when(context.getStateStore()).thenReturn(mock(store));
    return StateStores.of(context, conf, new BridgeConfig(conf));
  }

  private void refused(Class<? extends RMStateStore> store, String... parts) {
    try {
      store(store);
      fail(store + " was taken");
    } catch (IOException e) {
      for (String part : parts) {
        assertTrue(e.getMessage(), e.getMessage().contains(part));
      }
    }
  }

  /** What belongs to the cluster goes with the store; the rest stays on this machine. */
  @Test
  public void theKeeperGoesWithTheStore() throws Exception {
    assertTrue(store(ZKRMStateStore.class) instanceof ZooKeeperStateStore);
    assertTrue(store(LeveldbRMStateStore.class) instanceof LocalStateStore);
    assertTrue(store(NullRMStateStore.class) instanceof LocalStateStore);
    assertTrue(store(FileSystemRMStateStore.class) instanceof LocalStateStore);
    conf.set(YarnConfiguration.FS_RM_STATE_STORE_URI, "hdfs://127.0.0.1:1/rm-state");
    StateStore hdfs = store(FileSystemRMStateStore.class);
    assertEquals("hdfs://127.0.0.1:1/rm-state/loomcard/applied.json", hdfs.place("applied.json"));
  }

  /**
   * A pair whose policies would differ does not start, and the error says which setting would
   * differ.
   */
  @Test
  public void aPairThatWouldDifferIsRefused() throws Exception {
    conf.setBoolean(YarnConfiguration.RM_HA_ENABLED, true);
    refused(LeveldbRMStateStore.class, "yarn.resourcemanager.ha.enabled = true with",
        "yarn.resourcemanager.store.class =", "ZKRMStateStore", "loomcard.state.shared");
    refused(NullRMStateStore.class, "yarn.resourcemanager.recovery.enabled = true");
    refused(FileSystemRMStateStore.class, "on this machine alone");
    assertTrue(store(MemoryRMStateStore.class) instanceof LocalStateStore);
    conf.setBoolean(BridgeConfig.STATE_SHARED, true);
    StateStore files = store(FileSystemRMStateStore.class);
    assertTrue(files.isShared());
    assertEquals(folder.getRoot() + "/rm-state/loomcard/applied.json", files.place("applied.json"));
  }

  /**
   * Files that every ResourceManager mounts are replaced in one step. Hadoop's local file system
   * would delete the old text first, and keep a checksum in a second file.
   */
  @Test
  public void mountedFilesAreReplacedInOneStep() throws Exception {
    conf.setBoolean(YarnConfiguration.RM_HA_ENABLED, true);
    conf.setBoolean(BridgeConfig.STATE_SHARED, true);
    StateStore files = store(FileSystemRMStateStore.class);
    files.write("applied.json", "one");
    files.write("applied.json", "two");
    File kept = new File(folder.getRoot(), "rm-state/loomcard");
    assertEquals("[applied.json]", Arrays.toString(kept.list()));
    assertEquals("rw-------", PosixFilePermissions.toString(
        Files.getPosixFilePermissions(new File(kept, "applied.json").toPath())));
  }

  /** A folder that cannot be written stops the start, not the first apply. */
  @Test
  public void anUnwritableFolderIsRefused() throws Exception {
    conf.set(BridgeConfig.STATE_DIR, folder.newFile("taken").getPath());
    refused(NullRMStateStore.class, "loomcard.state.dir = \"", "taken\" in yarn-site.xml: expected",
        "may write");
  }

  /** A disk that accepts no writes now does not stop a cluster whose folder was in use. */
  @Test
  public void anUnwritableFolderInUseIsNotRefused() throws Exception {
    File inUse = new File("/proc/self"); // a folder with names, which nobody may write to
    conf.set(BridgeConfig.STATE_DIR, inUse.getPath());
    assertEquals(inUse + "/applied.json", store(NullRMStateStore.class).place("applied.json"));
  }

  /** The file system keeper reads what it wrote, repeatedly, and forgets. */
  @Test
  public void filesAreReplacedWhole() throws Exception {
    FileSystemStateStore files =
        new FileSystemStateStore(new Path(folder.getRoot().toURI() + "rm-state"), conf);
    assertNull(files.read("applied.json"));
    assertTrue(files.names().isEmpty());
    files.write("applied.json", "one");
    files.write("applied.json", "two grün");
    assertEquals("two grün", files.read("applied.json"));
    assertEquals(Collections.singletonList("applied.json"), files.names());
    files.delete("applied.json");
    files.delete("applied.json");
    assertFalse(files.names().contains("applied.json"));
  }
}
