package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.Test;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.config.PolicyConfigStore;
import org.loomcard.yarn.process.PolicyClient;
import org.loomcard.yarn.process.RunningPolicy;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.Golden;
import org.loomcard.yarn.wire.Handshake;

/** Many swaps in a row leave nothing behind. */
public class ManySwapsTest extends BridgeTestBase {
  private static final int SWAPS = 200;
  private final Set<Fake> live = ConcurrentHashMap.newKeySet();

  /** A policy without a process: it compiles whatever it gets, and decides nothing. */
  private final class Fake implements RunningPolicy, PolicyClient {
    @Override
    public PolicyClient client() {
      return this;
    }

    @Override
    public String decide(String text) {
      if (text.startsWith("[\"hello\"")) {
        return "[\"hello\"," + Handshake.SCHEMA + ",\"3\",\"0\",[]]";
      }
      try {
        return text.startsWith("[\"compile\"") ? Golden.message("compiled")
            : "[\"plan\"," + text.split(",")[1] + ",[],[],[],{},{},[],[],[],null,[]]";
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public String lastFailure() {
      return "";
    }

    @Override
    public void kill() {
      live.remove(this);
    }

    @Override
    public String describe() {
      return "a fake";
    }
  }

  private static int threads() {
    return ManagementFactory.getThreadMXBean().getThreadCount();
  }

  private static int files() {
    String[] found = new File("/proc/self/fd").list();
    return found == null ? 0 : found.length;
  }

  /** Threads, open files, policies and kept files are bounded, and every swap is answered. */
  @Test
  public void nothingIsLeftBehind() throws Exception {
    BridgeConfig config = new BridgeConfig(conf);
    EngineClock clock = new EngineClock(System.currentTimeMillis());
    bridge = new Bridge(config, clock, scheduler, onEnd -> {
      Fake fake = new Fake();
      live.add(fake);
      return fake;
    }, new Handshake(config, clock.epochMs(), "test", "3.4.2",
        Arrays.asList("memory_mb", "vcores")));
    bridge.load();
    bridge.start();
    Until.waitUntil("up", () -> bridge.status().state == BridgeStatus.State.UP);
    int threads = 0;
    int files = 0;
    for (int i = 1; i <= SWAPS; i++) {
      ConfigSwapResult result = bridge.swap("version: 1\n", "any.yml", null, 60_000);
      assertTrue(result.toString(), result.isApplied());
      assertEquals(i + 1, result.version);
      if (i == 20) {
        threads = threads();
        files = files();
      }
    }
    Until.waitUntil("one policy is left", () -> live.size() == 1);
    assertTrue("threads " + threads + ", then " + threads(), threads() <= threads + 3);
    assertTrue("open files " + files + ", then " + files(), files() <= files + 3);
    String[] kept = new File(folder.getRoot(), "state")
        .list((dir, name) -> name.startsWith("applied"));
    assertEquals(PolicyConfigStore.KEPT, kept.length);
    assertEquals(SWAPS, bridge.status().counters.swaps());
    assertEquals(0, bridge.status().counters.failures());
  }
}
