package org.apache.hadoop.yarn.server.resourcemanager;

import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.junit.Before;
import org.junit.jupiter.api.BeforeEach;

/** YARN's tests of the ApplicationMasterService, with the scheduler of {@code yarn-site.xml}. */
public class TestApplicationMasterServiceAny extends ApplicationMasterServiceTestBase {
  @Override
  protected YarnConfiguration createYarnConfig() {
    YarnConfiguration made = new YarnConfiguration();
    made.set(YarnConfiguration.RM_SCHEDULER, System.getProperty("scheduler.class"));
    return made;
  }

  /** There is only one queue, so the containers of the nodes are those of the queue. */
  @Override
  protected Resource getResourceUsageForQueue(ResourceManager rm, String queue) {
    AbstractYarnScheduler<?, ?> scheduler =
        (AbstractYarnScheduler<?, ?>) rm.getResourceScheduler();
    Resource used = Resource.newInstance(0, 0);
    for (NodeId id : rm.getRMContext().getRMNodes().keySet()) {
      SchedulerNode node = scheduler.getSchedulerNode(id);
      Resources.addTo(used, node.getAllocatedResource());
    }
    return used;
  }

  @Override
  protected String getDefaultQueueName() {
    return System.getProperty("loomcard.default-queue", "default");
  }

  @Before
  @BeforeEach
  @Override
  public void setup() {
    conf = createYarnConfig();
  }
}
