package org.loomcard.yarn.process;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.Uninterruptibles;
import org.junit.Test;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.wire.Handshake;

/** The thread that starts policy processes and writes files. */
public class SupervisorTest {

  /** A disk that hangs does not prevent the start of a process. */
  @Test
  public void aWriteThatHangsKeepsNoProcessFromItsStart() throws Exception {
    BridgeConfig config = new BridgeConfig(new Configuration(false));
    CountDownLatch disk = new CountDownLatch(1);
    CountDownLatch hangs = new CountDownLatch(1);
    CountDownLatch launched = new CountDownLatch(1);
    RunningPolicy.Launcher launcher = onEnd -> {
      launched.countDown();
      throw new IOException("there is no process in this test");
    };
    Watchdog watchdog = new Watchdog();
    Supervisor supervisor = new Supervisor(config, launcher,
        new Handshake(config, 1, "test", "3.4.2", Arrays.asList("memory_mb", "vcores")), watchdog,
        new Breaker(config), () -> { });
    supervisor.runLater(() -> {
      hangs.countDown();
      Uninterruptibles.awaitUninterruptibly(disk);
    });
    hangs.await();
    supervisor.startAfter(0);
    assertTrue("a process is started", launched.await(20, TimeUnit.SECONDS));
    disk.countDown();
    supervisor.stop();
    watchdog.stop();
  }

  /** A write that waits behind the start of a process is done before the end, and in order. */
  @Test
  public void aStopDoesWhatIsStillToBeWritten() throws Exception {
    BridgeConfig config = new BridgeConfig(new Configuration(false));
    CountDownLatch busy = new CountDownLatch(1);
    RunningPolicy.Launcher endless = onEnd -> {
      busy.countDown();
      new CountDownLatch(1).await();
      throw new AssertionError("nobody counts it down");
    };
    Watchdog watchdog = new Watchdog();
    Supervisor supervisor = new Supervisor(config, endless,
        new Handshake(config, 1, "test", "3.4.2", Arrays.asList("memory_mb", "vcores")), watchdog,
        new Breaker(config), () -> { });
    List<String> written = Collections.synchronizedList(new ArrayList<>());
    supervisor.startAfter(0);
    busy.await();
    supervisor.runLater(() -> written.add("first"));
    supervisor.runLater(() -> written.add("second"));
    supervisor.stop();
    supervisor.runLater(() -> written.add("after the stop"));
    watchdog.stop();
    assertEquals(Arrays.asList("first", "second", "after the stop"), written);
  }
}
