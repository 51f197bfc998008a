package org.loomcard.yarn.player.context;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The containers whose end the player decides. Each connects when it runs and sends its name,
 * followed by an application master's tokens if it has them. It exits when it receives a number, or
 * when the player is gone.
 */
public final class HeldContainers implements Closeable {
  private static final int HELLO_MS = 10_000;
  private static final int BACKLOG = 1000;

  private final ServerSocket server;
  private final Map<String, Consumer<String>> expected = new HashMap<>();
  private final Map<String, Socket> connected = new HashMap<>();
  private final Map<String, Integer> reported = new HashMap<>();

  public HeldContainers(InetAddress address) throws IOException {
    server = new ServerSocket();
    server.bind(new InetSocketAddress(address, 0), BACKLOG);
    Thread thread = new Thread(this::accept, "held containers");
    thread.setDaemon(true);
    thread.start();
  }

  public int port() {
    return server.getLocalPort();
  }

  /** {@code arrived} gets what the container sends after its name, "" for nothing. */
  public synchronized void expect(String name, Consumer<String> arrived) {
    expected.put(name, arrived);
  }

  /** Ends a container with an exit status: at once, or as soon as it connects. */
  public synchronized void end(String name, int exit) {
    Socket socket = connected.remove(name);
    if (socket == null) {
      reported.put(name, exit);
    } else {
      say(socket, exit);
    }
  }

  @Override
  public synchronized void close() throws IOException {
    server.close();
    for (Socket socket : connected.values()) {
      socket.close();
    }
  }

  private void accept() {
    while (!server.isClosed()) {
      try {
        greet(server.accept());
      } catch (IOException expectedAtTheEnd) {
        // The container ended before it sent its name; or the server was closed.
        continue;
      }
    }
  }

  private void greet(Socket socket) throws IOException {
    socket.setSoTimeout(HELLO_MS);
    String line = new BufferedReader(
        new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII)).readLine();
    String[] words = line == null ? new String[] {""} : line.trim().split(" ", 2);
    Consumer<String> arrived;
    synchronized (this) {
      arrived = expected.remove(words[0]);
      Integer exit = reported.remove(words[0]);
      if (arrived == null) {
        socket.close();
        return;
      }
      if (exit != null) {
        say(socket, exit);
        return;
      }
      connected.put(words[0], socket);
    }
    arrived.accept(words.length > 1 ? words[1] : "");
  }

  private static void say(Socket socket, int exit) {
    try {
      socket.getOutputStream().write((exit + "\n").getBytes(StandardCharsets.US_ASCII));
      socket.close();
    } catch (IOException ignored) {
      // The container is gone already; the ResourceManager will report how it ended.
    }
  }
}
