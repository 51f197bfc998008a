package org.apache.hadoop.yarn.client.api.impl;

import java.util.Collection;
import java.util.Collections;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;

/** YARN's tests of its AM client, with the scheduler of {@code -Dscheduler.class}. */
@RunWith(Parameterized.class)
public class TestAnyAMRMClient extends TestAMRMClient {
  /** JUnit calls it before each test. */
  public TestAnyAMRMClient(String schedulerName, boolean autoUpdate) {
    super(schedulerName, autoUpdate);
  }

  /** One scheduler; only the ResourceManager updates containers. */
  @Parameterized.Parameters
  public static Collection<Object[]> data() {
    return Collections.singletonList(
        new Object[] {System.getProperty("scheduler.class"), true});
  }
}
