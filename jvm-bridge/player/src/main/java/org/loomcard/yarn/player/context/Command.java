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
  /** What a timed container does. */
  public enum Work { SLEEP, BURN }

  private static final String BURN = "while :; do :; done";

  private final Work work;
  private final String host;
  private final int port;

  /** Held containers report to the player at {@code host} and {@code port}. */
  public Command(Work work, String host, int port) {
    this.work = work;
    this.host = host;
    this.port = port;
  }

  /**
   * Returns the command of a container that runs this long, then exits: with 1 if it {@code fails}.
   */
  public String timed(long ms, boolean fails) {
    String seconds = String.format(Locale.ROOT, "%.3f", ms / 1000.0);
    String line = work == Work.SLEEP ? "sleep " + seconds : "timeout " + seconds + " bash -c '"
        + BURN + "'";
    int exit = fails ? 1 : 0;
    return line + "; exit " + exit + " # loomcard sleep " + ms + " " + exit;
  }

  /** A container that sends {@code name} to the player, and exits with the number it receives. */
  public String held(String name) {
    String burn = work == Work.BURN ? BURN + " & " : "";
    String kill = work == Work.BURN ? "kill %1; " : "";
    return burn + open() + "echo " + name + " >&3; " + await() + kill
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
