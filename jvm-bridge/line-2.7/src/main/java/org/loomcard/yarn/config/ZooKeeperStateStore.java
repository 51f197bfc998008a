package org.loomcard.yarn.config;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;

/** Hadoop 2.7 has no ZKCuratorManager: there is no such store, and no object of this class. */
final class ZooKeeperStateStore implements StateStore {

  /** Refuses: the ResourceManager does not start. */
  ZooKeeperStateStore(RMContext context, Configuration conf) throws IOException {
    throw new IOException("Loomcard keeps nothing in ZooKeeper with Hadoop 2.7: set"
        + " yarn.resourcemanager.store.class to"
        + " org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore, or use"
        + " a ResourceManager of Hadoop 2.10");
  }

  @Override
  public String read(String name) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void write(String name, String text) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void delete(String name) {
    throw new UnsupportedOperationException();
  }

  @Override
  public List<String> names() {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean isShared() {
    return true;
  }

  @Override
  public void close() {
  }

  @Override
  public String place(String name) {
    throw new UnsupportedOperationException();
  }
}
