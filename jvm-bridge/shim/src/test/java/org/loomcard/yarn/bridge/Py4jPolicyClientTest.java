package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** The wire itself, against a real Python process that answers with what it was asked. */
public class Py4jPolicyClientTest {
  @Rule
  public final TemporaryFolder folder = new TemporaryFolder();
  private RunningPolicy echo;

  @Before
  public void start() throws Exception {
    Configuration conf = new Configuration(false);
    conf.set(BridgeConfig.STATE_DIR, folder.getRoot().getPath());
    conf.set(BridgeConfig.PYTHON, PythonForTests.path());
    echo = new PolicyProcess.Launcher(new BridgeConfig(conf), "-P",
        PythonForTests.script("echo.py")).launch(() -> { });
  }

  @After
  public void kill() {
    echo.kill();
  }

  /** Text arrives as it was sent, whatever is in it. */
  @Test
  public void carriesAnyText() throws Exception {
    String text = "\u00e9 \ud834\udd1e \\ \\n \n \r \t \"quoted\" \u0001 \u007f e\nx";
    assertEquals(text, echo.client().decide(text));
    assertEquals("", echo.client().decide(""));
  }

  /**
   * Without TCP_NODELAY nearly every message of 9 to 30 kB stalls for 40 ms. The cost of a small
   * one scales the bound, so that a slow machine does not fail the test.
   */
  @Test
  public void messagesOfNoSizeStall() throws Exception {
    quietestMicros(100);
    long small = quietestMicros(100);
    for (int size : new int[] {9_000, 20_000, 100_000}) {
      long large = quietestMicros(size);
      assertTrue(size + " characters took " + large + " us, 100 took " + small,
          large < 20_000 + 10 * small);
    }
  }

  /** What is raised in Python is a failure here, with its message. */
  @Test
  public void anExceptionIsAFailure() throws Exception {
    try {
      echo.client().decide("raise");
      fail("no failure");
    } catch (PolicyFailureException e) {
      assertTrue(e.getMessage(), e.getMessage().contains("as asked"));
    }
  }

  /** After a kill every call fails at once; none is sent twice. */
  @Test
  public void aKilledProcessFails() throws Exception {
    assertEquals("x", echo.client().decide("x"));
    echo.kill();
    try {
      echo.client().decide("x");
      fail("no failure");
    } catch (PolicyFailureException e) {
      assertTrue(e.getMessage(), e.getMessage().startsWith("no reply from the policy process"));
    }
  }

  /** The least of several medians: a busy machine has a quiet moment, a stall has none. */
  private long quietestMicros(int size) throws Exception {
    long quietest = Long.MAX_VALUE;
    for (int i = 0; i < 6; i++) {
      quietest = Math.min(quietest, medianMicros(size));
    }
    return quietest;
  }

  private long medianMicros(int size) throws Exception {
    char[] text = new char[size];
    Arrays.fill(text, 'x');
    long[] micros = new long[9];
    for (int i = 0; i < micros.length; i++) {
      long begin = System.nanoTime();
      assertEquals(size, echo.client().decide(new String(text)).length());
      micros[i] = (System.nanoTime() - begin) / 1000;
    }
    Arrays.sort(micros);
    return micros[micros.length / 2];
  }
}
