package org.loomcard.yarn.web;

import static org.junit.Assert.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.bridge.BridgeSamples;

/** Calls that stall keep further policies out, not the other parts of the web side. */
public class StalledCallsTest {
  private static final String POLICY = "/ws/v1/cluster/loomcard/policy";
  private RunningRm manager;

  @Before
  public void start() throws Exception {
    Configuration conf = new YarnConfiguration();
    conf.set(YarnConfiguration.YARN_ADMIN_ACL, "admin");
    IdleScheduler.STATUS.answer = BridgeSamples.applied(SampleStatus.GOVERNING);
    manager = RunningRm.start(IdleScheduler.class, conf);
  }

  @After
  public void stop() {
    manager.stop();
  }

  @Test
  public void takeFewThreads() throws Exception {
    String path = POLICY + "?user.name=admin&dry_run=true";
    List<Socket> stalled = new ArrayList<>();
    try {
      SchedulerTestBase.until("all places are taken", () -> { // one by an earlier call of ours, too
        stall(path, stalled);
        return status(path) == 503;
      });
      assertEquals(200, manager.get(POLICY, null).status);
    } finally {
      for (Socket socket : stalled) {
        socket.close();
      }
    }
    SchedulerTestBase.until("they are over", () -> status(path) == 200);
  }

  private void stall(String path, List<Socket> stalled) {
    try {
      while (stalled.size() % PolicyUpload.MOST != 0 || stalled.isEmpty()) {
        stalled.add(manager.stalled(path));
      }
      stalled.add(manager.stalled(path));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private int status(String path) {
    try {
      return manager.put(path, "policy: drf\n").status;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
