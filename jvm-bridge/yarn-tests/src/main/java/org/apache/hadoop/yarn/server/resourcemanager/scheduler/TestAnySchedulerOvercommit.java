package org.apache.hadoop.yarn.server.resourcemanager.scheduler;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** YARN's tests of nodes that shrink, with the scheduler of {@code -Dscheduler.class}. */
public class TestAnySchedulerOvercommit extends TestSchedulerOvercommit {
  @Override
  protected Configuration getConfiguration() {
    Configuration conf = super.getConfiguration();
    conf.set(YarnConfiguration.RM_SCHEDULER, System.getProperty("scheduler.class"));
    for (String queue : new String[] {"root", "root.default"}) {  // as YARN's own, for Capacity
      conf.set("yarn.scheduler.capacity." + queue + ".maximum-am-resource-percent", "100.0");
    }
    return conf;
  }
}
