package org.apache.hadoop.yarn.server.resourcemanager;

import java.io.IOException;
import java.util.Collection;
import java.util.Collections;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.util.ReflectionUtils;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;

/**
 * Comes before YARN's class of this name on the class path: YARN's parameterised tests then run
 * against the scheduler that {@code -Dscheduler.class} names, and stay byte-identical themselves.
 */
@RunWith(Parameterized.class)
public abstract class ParameterizedSchedulerTestBase {
  /** YARN's two schedulers, and any other scheduler. */
  public enum SchedulerType { CAPACITY, FAIR, PLUGIN }

  private SchedulerType type;
  private YarnConfiguration conf;
  private AbstractYarnScheduler<?, ?> scheduler;

  /** For tests of JUnit 5, which call {@link #initParameterizedSchedulerTestBase} first. */
  public ParameterizedSchedulerTestBase() {
  }

  /** JUnit 4 calls it before each test. */
  public ParameterizedSchedulerTestBase(SchedulerType type) throws IOException {
    initParameterizedSchedulerTestBase(type);
  }

  /** Makes a configuration and a scheduler for one test. */
  public final void initParameterizedSchedulerTestBase(SchedulerType type) throws IOException {
    QueueMetrics.clearQueueMetrics();
    DefaultMetricsSystem.setMiniClusterMode(true);
    this.type = type;
    conf = new YarnConfiguration();
    String name = System.getProperty("scheduler.class");
    conf.set(YarnConfiguration.RM_SCHEDULER, name);
    scheduler = (AbstractYarnScheduler<?, ?>) ReflectionUtils.newInstance(
        conf.getClass(YarnConfiguration.RM_SCHEDULER, null), conf);
  }

  /** The one scheduler that is tested. */
  @Parameterized.Parameters(name = "{0}")
  public static Collection<Object[]> getParameters() {
    boolean capacity =
        CapacityScheduler.class.getName().equals(System.getProperty("scheduler.class"));
    return Collections.singletonList(
        new Object[] {capacity ? SchedulerType.CAPACITY : SchedulerType.PLUGIN});
  }

  public YarnConfiguration getConf() {
    return conf;
  }

  public SchedulerType getSchedulerType() {
    return type;
  }

  /** Returns a new instance of the tested scheduler; it is not the ResourceManager's instance. */
  @SuppressWarnings("rawtypes")
  public AbstractYarnScheduler getScheduler() {
    return scheduler;
  }
}
