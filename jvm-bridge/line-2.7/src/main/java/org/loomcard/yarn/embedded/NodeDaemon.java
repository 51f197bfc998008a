package org.loomcard.yarn.embedded;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.ContainerExecutor;
import org.apache.hadoop.yarn.server.nodemanager.Context;
import org.apache.hadoop.yarn.server.nodemanager.DeletionService;
import org.apache.hadoop.yarn.server.nodemanager.LocalDirsHandlerService;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;
import org.apache.hadoop.yarn.server.nodemanager.NodeStatusUpdater;
import org.apache.hadoop.yarn.server.nodemanager.ResourceView;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.ContainerManagerImpl;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerEventType;
import org.apache.hadoop.yarn.server.nodemanager.webapp.WebServer;
import org.apache.hadoop.yarn.server.security.ApplicationACLsManager;

/**
 * A NodeManager of Hadoop 2.7 without web pages, of which one JVM has one table only. It writes
 * down when its containers begin and end: this line has no listener for that.
 */
final class NodeDaemon extends NodeManager {

  /** Does nothing: each node reads its own resources. */
  static void forgetResources() {
  }

  @Override
  protected void serviceInit(Configuration conf) throws Exception {
    conf.setClass(YarnConfiguration.NM_CONTAINER_EXECUTOR, GroupExecutor.class,
        ContainerExecutor.class);
    super.serviceInit(conf);
  }

  @Override
  protected ContainerManagerImpl createContainerManager(Context context,
      ContainerExecutor executor, DeletionService deletion, NodeStatusUpdater updater,
      ApplicationACLsManager acls, LocalDirsHandlerService folders) {
    return new Containers(context, executor, deletion, updater, acls, folders);
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

  /** Has the events of containers seen, after YARN has handled them. */
  private final class Containers extends ContainerManagerImpl {
    private Containers(Context context, ContainerExecutor executor, DeletionService deletion,
        NodeStatusUpdater updater, ApplicationACLsManager acls,
        LocalDirsHandlerService folders) {
      super(context, executor, deletion, updater, metrics, acls, folders);
      dispatcher.register(ContainerEventType.class,
          new ContainerTimes(new ContainerLog(NodeDaemon.this.getConfig()), context));
    }
  }
}
