package org.loomcard.yarn.player.context;

import java.util.Locale;

/**
 * The commands of containers. Each is a line of bash that does the work in real processes. A
 * comment at its end says the same to an executor of virtual containers.
 *
 * <p>YARN puts the line between double quotes inside a script of its own, so a dollar for the inner
 * shell is escaped, and there are no double quotes.
 */
public final class Command {
  private final String host;
  private final int port;

  /** Held containers report to the player at {@code host} and {@code port}. */
  public Command(String host, int port) {
    this.host = host;
    this.port = port;
  }

  /**
   * Returns the command of a container that runs this long, then exits: with 1 if it {@code fails}.
   */
  public String timed(long ms, boolean fails) {
    String seconds = String.format(Locale.ROOT, "%.3f", ms / 1000.0);
    int exit = fails ? 1 : 0;
    return "sleep " + seconds + "; exit " + exit + " # loomcard sleep " + ms + " " + exit;
  }

  /** A container that sends {@code name} to the player, and exits with the number it receives. */
  public String held(String name) {
    return open() + "echo " + name + " >&3; " + await()
        + "exit \\${code:-1} # loomcard hold " + host + " " + port + " " + name;
  }

  /** The same for an application master's container, which also sends its tokens. */
  public String master(String name) {
    return open() + "echo " + name + " \\$(base64 -w0 \\$HADOOP_TOKEN_FILE_LOCATION) >&3; "
        + await() + "exit \\${code:-1} # loomcard hold " + host + " " + port + " " + name
        + " tokens";
  }

  private String open() {
    return "exec 3<>/dev/tcp/" + host + "/" + port + "; ";
  }

  private static String await() {
    return "read -r -u 3 code; ";
  }
}
