package org.apache.hadoop.yarn.client.api.impl;

import java.util.Collection;
import java.util.Collections;

/** YARN's tests of its AM client, with the scheduler of {@code -Dscheduler.class}. */
public class TestAnyAMRMClient extends TestAMRMClient {
  /** One scheduler; only the ResourceManager updates containers. */
  public static Collection<Object[]> data() {
    return Collections.singletonList(
        new Object[] {System.getProperty("scheduler.class"), true});
  }
}
