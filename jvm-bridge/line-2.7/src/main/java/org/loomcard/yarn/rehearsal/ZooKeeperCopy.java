package org.loomcard.yarn.rehearsal;

import java.io.File;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;

/** Hadoop 2.7 has no ZKCuratorManager: applications in ZooKeeper cannot be copied there. */
final class ZooKeeperCopy {
  ZooKeeperCopy(Configuration conf, File target) {
  }

  /** Refuses; a rehearsal then says why it has no applications. */
  String make() throws IOException {
    throw new IOException("applications in ZooKeeper cannot be rehearsed with Hadoop 2.7: keep"
        + " them in a FileSystemRMStateStore");
  }
}
