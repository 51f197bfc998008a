package org.loomcard.yarn.queues;

import java.io.IOException;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the ResourceManager and its clients want to know about queues, by their names: rights of
 * users, largest sizes and lifetimes, how full a queue is. Any thread may call it.
 */
public final class QueueQueries {
  private static final Logger LOG = LoggerFactory.getLogger(QueueQueries.class);
  private final QueueTree tree;

  public QueueQueries(QueueTree tree) {
    this.tree = tree;
  }

  /**
   * Returns what clients are shown of a queue; for an unknown name, throws an exception that names
   * the queues.
   */
  public QueueInfo info(String name, boolean children, boolean recursive) throws IOException {
    return tree.require(name).getQueueInfo(children, recursive);
  }

  /** Returns the rights of the caller of the present remote call, in every queue. */
  public List<QueueUserACLInfo> rightsOfCaller() {
    try {
      return tree.root().getQueueUserAclInfo(UserGroupInformation.getCurrentUser());
    } catch (IOException e) {
      LOG.warn("The caller that asks for its access to queues is unknown", e);
      return Collections.emptyList();
    }
  }

  /** Whether the lists of the queue give the caller this right; false for an unknown queue. */
  public boolean hasAccess(UserGroupInformation caller, QueueACL acl, String name) {
    LoomcardQueue queue = tree.find(name);
    return queue != null && queue.hasAccess(acl, caller);
  }

  /** Returns the largest container that may be asked for there, at most {@code most}. */
  public Resource largest(String name, Resource most) {
    return Admission.largest(tree.find(name), most);
  }

  /** Returns the seconds that an application may live there if it asks for {@code asked}. */
  public long lifetime(String name, long asked) {
    return Admission.lifetime(tree.find(name), asked);
  }

  /**
   * Returns the root's metrics, also before a configuration has been loaded, when there is no tree.
   */
  public QueueMetrics rootMetrics(Configuration conf) {
    return tree.queues().isEmpty() ? QueueMetrics.forQueue("root", null, false, conf)
        : tree.root().getMetrics();
  }
}
