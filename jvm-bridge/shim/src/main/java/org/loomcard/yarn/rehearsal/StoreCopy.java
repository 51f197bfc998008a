package org.loomcard.yarn.rehearsal;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.LeveldbRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore;

/**
 * Copies the ResourceManager's state, and node labels, even while they are in use. It only reads
 * them.
 */
final class StoreCopy {
  private static final int TRIES = 5;
  private final Configuration conf;
  private final File scratch;

  StoreCopy(Configuration conf, File scratch) {
    this.conf = conf;
    this.scratch = scratch;
  }

  /**
   * Copies everything, and makes the configuration use the copies.
   *
   * @return where the state was read, for people
   * @throws IOException when it cannot be read; the message says why
   */
  String make() throws IOException {
    copyFolder("yarn.node-labels.fs-store.root-dir", "labels");
    copyFolder("yarn.node-attribute.fs-store.root-dir", "attributes");
    if (!conf.getBoolean(YarnConfiguration.RECOVERY_ENABLED, false)) {
      return "none: " + YarnConfiguration.RECOVERY_ENABLED + " is off, a restart ends every "
          + "application";
    }
    Class<?> kind = conf.getClass(YarnConfiguration.RM_STORE, MemoryRMStateStore.class,
        RMStateStore.class);
    if (kind == FileSystemRMStateStore.class) {
      return copyFolder(YarnConfiguration.FS_RM_STATE_STORE_URI, "rmstore");
    }
    if (kind == LeveldbRMStateStore.class) {
      return copyFolder(YarnConfiguration.RM_LEVELDB_STORE_PATH, "rmstore");
    }
    if (kind == ZKRMStateStore.class) {
      String place = new ZooKeeperCopy(conf, new File(scratch, "rmstore")).make();
      conf.set(YarnConfiguration.RM_STORE, FileSystemRMStateStore.class.getName());
      conf.set(YarnConfiguration.FS_RM_STATE_STORE_URI, new File(scratch, "rmstore").toURI()
          .toString());
      return place;
    }
    throw new IOException("the state store " + kind.getName() + " cannot be copied, so what it "
        + "holds cannot be rehearsed");
  }

  private String copyFolder(String key, String name) throws IOException {
    String from = conf.getTrimmed(key);
    File to = new File(scratch, name);
    boolean isUri = !YarnConfiguration.RM_LEVELDB_STORE_PATH.equals(key);
    conf.set(key, isUri ? to.toURI().toString() : to.getPath());
    if (from == null || from.isEmpty()) {
      return "none";
    }
    Path source = isUri ? new Path(from) : new Path(new File(from).toURI());
    FileSystem files = source.getFileSystem(conf);
    for (int left = TRIES; files.exists(source); left--) {
      try {
        FileUtil.fullyDelete(to);
        FileUtil.copy(files, source, to, false, conf);
        deleteLocks(to);
        return source.toString();
      } catch (FileNotFoundException e) { // in use: it has just been renamed or removed
        if (left == 1) {
          throw e;
        }
      }
    }
    return source + ": nothing is there";
  }

  /** Deletes lock files: a lock that another process has is not part of the state. */
  private static void deleteLocks(File folder) throws IOException {
    for (File lock : Arrays.asList(new File(folder, "LOCK"),
        new File(new File(folder, "yarn-rm-state"), "LOCK"))) {
      Files.deleteIfExists(lock.toPath());
    }
  }
}
