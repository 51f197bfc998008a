package org.loomcard.yarn.embedded;

import java.io.IOException;
import org.apache.hadoop.util.Shell;
import org.apache.hadoop.yarn.server.nodemanager.ContainerExecutor.Signal;
import org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor;

/**
 * Signals the process group of a container with {@code kill -15 -- -PID}. Hadoop 2.7 leaves out
 * {@code --}: then a kill of procps 4 signals nothing, and killed containers run on.
 */
public final class GroupExecutor extends DefaultContainerExecutor {
  private static final String ANY = "0";

  @Override
  public boolean signalContainer(String user, String pid, Signal signal) throws IOException {
    return signal(pid, String.valueOf(signal.getValue()));
  }

  @Override
  public boolean isContainerProcessAlive(String user, String pid) throws IOException {
    return signal(pid, ANY);
  }

  /** Returns false when the group has ended. */
  private static boolean signal(String pid, String number) throws IOException {
    try {
      new Shell.ShellCommandExecutor(new String[] {"kill", "-" + number, "--", "-" + pid})
          .execute();
      return true;
    } catch (Shell.ExitCodeException e) {
      return false;
    }
  }
}
