package org.loomcard.yarn.process;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.loomcard.yarn.bridge.PythonForTests;
import org.loomcard.yarn.config.BridgeConfig;

/** The wire itself, against a real Python process that answers with the request. */
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

  /** Text arrives as it was sent, whatever it contains. */
  @Test
  public void carriesAnyText() throws Exception {
    String text = "\u00e9 \ud834\udd1e \\ \\n \n \r \t \"quoted\" \u0001 \u007f e\nx";
    assertEquals(text, echo.client().decide(text));
    assertEquals("", echo.client().decide(""));
  }

  /** Messages of any size come back whole. */
  @Test
  public void carriesTextOfAnySize() throws Exception {
    for (int size : new int[] {9_000, 20_000, 100_000, 1_000_000}) {
      char[] text = new char[size];
      Arrays.fill(text, 'x');
      assertEquals(new String(text), echo.client().decide(new String(text)));
    }
  }

  /** Without TCP_NODELAY nearly every message of 9 to 30 kB stalls for 40 ms. */
  @Test
  public void socketsDoNotDelay() throws Exception {
    InetAddress loopback = InetAddress.getLoopbackAddress();
    try (ServerSocket server = new ServerSocket(0, 1, loopback);
        Socket socket = new Py4jPolicyClient.LoopbackSockets(1 << 20).createSocket(loopback,
            server.getLocalPort())) {
      assertTrue(socket.getTcpNoDelay());
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
}
