package org.loomcard.yarn.embedded;

import org.apache.hadoop.yarn.server.nodemanager.Context;
import org.apache.hadoop.yarn.server.nodemanager.LocalDirsHandlerService;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;
import org.apache.hadoop.yarn.server.nodemanager.ResourceView;
import org.apache.hadoop.yarn.server.nodemanager.webapp.WebServer;
import org.apache.hadoop.yarn.server.security.ApplicationACLsManager;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/**
 * A NodeManager without web pages. Guice keeps one table of pages for a whole JVM: the pages of the
 * last daemon to start, a NodeManager, would replace the ResourceManager's. YARN's own {@code
 * disableWebServer} came with 3.4.
 */
final class NodeDaemon extends NodeManager {

  /** A node's resources are read once for a whole JVM, but here each node has others. */
  static void forgetResources() {
    ResourceUtils.resetNodeResources();
  }

  @Override
  protected WebServer createWebServer(Context context, ResourceView view,
      ApplicationACLsManager acls, LocalDirsHandlerService folders) {
    return new WebServer(context, view, acls, folders) {
      @Override
      protected void serviceStart() {
        // Nobody asks for a page of this node.
      }
    };
  }
}
