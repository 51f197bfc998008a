package org.loomcard.yarn.process;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends policy processes of ResourceManagers that were killed. Each ends when its standard input
 * does, except one that is stopped: it would stay, with all its memory.
 */
final class OrphanProcesses {
  private static final Logger LOG = LoggerFactory.getLogger(OrphanProcesses.class);

  private OrphanProcesses() {
  }

  /**
   * Kills the processes that were started in the folder by a ResourceManager on this machine that
   * no longer runs, and deletes their files. Does nothing if there is no /proc.
   */
  static void end(File stateDir) {
    File[] processes = new File("/proc").listFiles((dir, name) -> name.matches("\\d+"));
    if (processes == null) {
      return;
    }
    for (File process : processes) {
      try {
        PrivateFolder folder = folderOf(process, stateDir.getCanonicalFile().toPath());
        if (folder != null && !new File("/proc", folder.owner()).exists()) {
          LOG.warn("Process {} of a ResourceManager that was killed is still there: killing it",
              process.getName());
          kill(process.getName());
          folder.delete();
        }
      } catch (IOException e) {
        continue; // It has ended, or is not ours.
      }
    }
  }

  /**
   * Kills a process, or its group if its number has a minus sign; waits until the signal was sent.
   */
  static void kill(String number) {
    try {
      new ProcessBuilder("kill", "-9", "--", number).redirectErrorStream(true).start().waitFor();
    } catch (IOException e) {
      LOG.warn("Process {} cannot be killed: {}", number, e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Returns the private folder in {@code stateDir} from which the process got the secret, or null.
   */
  private static PrivateFolder folderOf(File process, Path stateDir) throws IOException {
    String[] words = new String(Files.readAllBytes(process.toPath().resolve("cmdline")),
        StandardCharsets.UTF_8).split("\0");
    for (int i = 1; i < words.length; i++) {
      if (words[i - 1].equals("--secret-file")) {
        Path folder = new File(words[i]).getCanonicalFile().toPath().getParent();
        return stateDir.equals(folder.getParent()) ? PrivateFolder.existing(folder) : null;
      }
    }
    return null;
  }
}
