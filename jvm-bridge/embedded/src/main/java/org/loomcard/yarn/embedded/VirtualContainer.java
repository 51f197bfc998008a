package org.loomcard.yarn.embedded;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.Container;

/**
 * The comment at the end of a command of the player: {@code # loomcard sleep MS EXIT}, or {@code #
 * loomcard hold HOST PORT NAME [tokens]}; the player decides when the latter ends.
 */
final class VirtualContainer {
  private static final String MARK = "# loomcard ";

  private final String[] words;
  private Socket socket;
  private boolean killed;

  private VirtualContainer(String[] words) {
    this.words = words;
  }

  /** Reads a container's command; returns null if it is not one of the player's. */
  static VirtualContainer of(Container container) {
    String command = String.join(" ", container.getLaunchContext().getCommands());
    int mark = command.indexOf(MARK);
    return mark < 0 ? null
        : new VirtualContainer(command.substring(mark + MARK.length()).trim().split(" "));
  }

  boolean isTimed() {
    return words[0].equals("sleep");
  }

  /** How long a timed container runs. */
  long ms() {
    return Long.parseLong(words[1]);
  }

  /** A timed container's exit status. */
  int exit() {
    return Integer.parseInt(words[2]);
  }

  /** Reports to the player and waits for the exit status that it sends; 1 if the player is gone. */
  int hold(Credentials credentials) {
    try (Socket player = new Socket(words[1], Integer.parseInt(words[2]))) {
      connected(player);
      String hello = words[3] + (words.length > 4 ? " " + text(credentials) : "") + "\n";
      player.getOutputStream().write(hello.getBytes(StandardCharsets.US_ASCII));
      String reported = new BufferedReader(
          new InputStreamReader(player.getInputStream(), StandardCharsets.US_ASCII)).readLine();
      return reported == null ? 1 : Integer.parseInt(reported);
    } catch (IOException e) {
      return 1;
    }
  }

  /** Ends {@link #hold}. */
  synchronized void kill() {
    killed = true;
    closeSocket();
  }

  private synchronized void connected(Socket to) {
    socket = to;
    if (killed) {
      closeSocket();
    }
  }

  private void closeSocket() {
    try {
      if (socket != null) {
        socket.close();
      }
    } catch (IOException ignored) {
      // The connection is gone in both cases.
    }
  }

  private static String text(Credentials credentials) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    credentials.writeTokenStorageToStream(new DataOutputStream(bytes));
    return Base64.getEncoder().encodeToString(bytes.toByteArray());
  }
}
