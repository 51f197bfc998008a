package org.loomcard.yarn.process;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.net.SocketFactory;
import org.loomcard.yarn.config.BridgeConfig;
import py4j.CallbackClient;
import py4j.Gateway;
import py4j.Py4JClientConnection;
import py4j.Py4JNetworkException;

/**
 * Talks to a policy process on the loopback interface; the only class that uses Py4J. It opens no
 * Java server: the process can answer, but cannot reach anything in this JVM.
 */
final class Py4jPolicyClient implements PolicyClient {

  /** What Python serves as its entry point; Py4J calls these methods by their names. */
  interface EntryPoint {
    String decide(String text);

    String lastFailure();
  }

  private static final int CONNECT_TIMEOUT_MS = 5000;
  /** Kept here, since java.util.logging forgets levels of loggers without a reference. */
  private static final Logger PY4J_LOG =
      Logger.getLogger(CallbackClient.class.getPackage().getName());
  private final LoopbackSockets sockets;
  private final CallbackClient connections;
  private final EntryPoint entryPoint;

  static {
    // Py4J logs every message whole at INFO, which the JVM prints by default; we report failures.
    PY4J_LOG.setLevel(Level.OFF);
  }

  /** @param maxReplyBytes a longer reply is a failure, and is not read into memory */
  Py4jPolicyClient(int port, String secret, long maxReplyBytes) {
    sockets = new LoopbackSockets(maxReplyBytes);
    connections = new NoRetryClient(port, secret, sockets);
    Gateway gateway = new Gateway(null, connections);
    entryPoint = (EntryPoint) connections.getPythonServerEntryPoint(gateway,
        new Class<?>[] {EntryPoint.class});
  }

  @Override
  public String decide(String text) throws PolicyFailureException {
    try {
      return answer(entryPoint.decide(text));
    } catch (RuntimeException | OutOfMemoryError e) {
      throw failed(e);
    }
  }

  @Override
  public String lastFailure() throws PolicyFailureException {
    try {
      return answer(entryPoint.lastFailure());
    } catch (RuntimeException | OutOfMemoryError e) {
      throw failed(e);
    }
  }

  /** Closes all connections; a call in progress fails. Any thread may call it. */
  void close() {
    sockets.close();
    connections.shutdown();
  }

  private static String answer(String reply) throws PolicyFailureException {
    if (reply == null) {
      throw new PolicyFailureException("the policy process answered nothing (null)");
    }
    return reply;
  }

  private static PolicyFailureException failed(Throwable e) {
    Throwable cause = e;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return new PolicyFailureException("no reply from the policy process: " + cause.getMessage(), e);
  }

  /**
   * Never repeats a command. Py4J does when the first sending failed, but a batch must never be
   * decided twice.
   */
  private static final class NoRetryClient extends CallbackClient {
    private NoRetryClient(int port, String secret, SocketFactory sockets) {
      super(port, InetAddress.getLoopbackAddress(), secret, 0, TimeUnit.SECONDS, sockets, false, 0);
    }

    @Override
    protected boolean shouldRetrySendCommand(Py4JClientConnection connection,
        Py4JNetworkException failure) {
      return false;
    }
  }

  /**
   * Sockets with TCP_NODELAY, without which messages of 9 to 30 kB stall for 40 ms; at most one
   * open. The bytes of a reply are counted as they arrive: Py4J itself reads a line of any length.
   */
  static final class LoopbackSockets extends SocketFactory {
    private final long maxReplyBytes;
    private Socket open;
    private boolean closed;

    LoopbackSockets(long maxReplyBytes) {
      this.maxReplyBytes = maxReplyBytes;
    }

    @Override
    public synchronized Socket createSocket(InetAddress address, int port) throws IOException {
      if (closed) {
        throw new IOException("the connection to the policy process has been closed");
      }
      Socket socket = new BoundedReplySocket(maxReplyBytes);
      open = socket;
      socket.setTcpNoDelay(true);
      socket.connect(new InetSocketAddress(address, port), CONNECT_TIMEOUT_MS);
      return socket;
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
      return createSocket(InetAddress.getByName(host), port);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort)
        throws IOException {
      return createSocket(host, port);
    }

    @Override
    public Socket createSocket(InetAddress address, int port, InetAddress local, int localPort)
        throws IOException {
      return createSocket(address, port);
    }

    private synchronized void close() {
      closed = true;
      if (open != null) {
        try {
          open.close();
        } catch (IOException e) {
          // It was closed already, so there is nothing to do.
          open = null;
        }
      }
    }
  }

  /**
   * A socket that limits how many bytes may be received after each time that something was sent.
   */
  private static final class BoundedReplySocket extends Socket {
    private final long most;
    private long left;

    private BoundedReplySocket(long most) {
      this.most = most;
      this.left = most;
    }

    @Override
    public OutputStream getOutputStream() throws IOException {
      return new FilterOutputStream(super.getOutputStream()) {
        @Override
        public void write(byte[] bytes, int from, int count) throws IOException {
          left = most;
          out.write(bytes, from, count);
        }
      };
    }

    @Override
    public InputStream getInputStream() throws IOException {
      return new FilterInputStream(super.getInputStream()) {
        @Override
        public int read() throws IOException {
          return counted(super.read(), 1);
        }

        @Override
        public int read(byte[] bytes, int from, int count) throws IOException {
          int read = super.read(bytes, from, count);
          return counted(read, read);
        }
      };
    }

    private int counted(int result, int read) throws IOException {
      left -= Math.max(0, read);
      if (left < 0) {
        throw new IOException("the reply is longer than " + (most >> 20) + " MiB ("
            + BridgeConfig.PROCESS_MAX_REPLY_MB + ")");
      }
      return result;
    }
  }
}
