package org.loomcard.yarn.process;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import org.junit.After;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.loomcard.yarn.bridge.Until;

/** Policy processes that a killed ResourceManager left behind on this machine. */
public class OrphanProcessesTest {
  private static final String NOBODY = "4194305";
  @Rule public final TemporaryFolder folder = new TemporaryFolder();
  private final List<Process> started = new ArrayList<>();

  @After
  public void end() {
    started.forEach(Process::destroyForcibly);
  }

  /**
   * Starts a process that waits for its standard input, as a policy process does, with the secret
   * of that folder.
   */
  private Process process(PrivateFolder secret) throws Exception {
    Process process = new ProcessBuilder("sh", "-c", "echo $$; read line", "policy",
        "--secret-file", secret.secretFile().getPath()).start();
    started.add(process);
    return process;
  }

  /** Its process id, which is its first output. */
  private static String pid(Process process) throws Exception {
    return new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
  }

  private PrivateFolder ownedBy(String pid) throws Exception {
    return PrivateFolder.in(folder.getRoot(), pid);
  }

  /** A process whose ResourceManager is gone is killed even if it is stopped; ours continues. */
  @Test
  public void onlyThoseOfAnotherParentAreKilled() throws Exception {
    PrivateFolder left = ownedBy(NOBODY);
    PrivateFolder own = PrivateFolder.in(folder.getRoot(), folder.getRoot());
    Process stopped = process(left);
    Process ours = process(own);
    pid(ours);
    assertEquals(0, new ProcessBuilder("kill", "-STOP", pid(stopped)).start().waitFor());
    OrphanProcesses.end(folder.getRoot());
    Until.waitUntil("it is killed", () -> !stopped.isAlive());
    assertFalse("its files are gone", left.secretFile().getParentFile().exists());
    assertTrue(ours.isAlive());
    assertTrue(own.secretFile().exists());
  }

  /** Processes that a policy started are killed with the group of its process. */
  @Test
  public void aGroupIsKilledWhole() throws Exception {
    Process leader = new ProcessBuilder("setsid", "sh", "-c", "sleep 600 & echo $$ $!; wait")
        .start();
    started.add(leader);
    String[] pids = pid(leader).split(" ");
    OrphanProcesses.kill("-" + pids[0]);
    for (String each : pids) {
      Until.waitUntil("it is killed", () -> !new File("/proc/" + each + "/exe").exists());
    }
  }

  /** A process that has its secret from another folder is not ours. */
  @Test
  public void thoseOfAnotherFolderAreLeftAlone() throws Exception {
    Process other = process(ownedBy(NOBODY));
    pid(other);
    File elsewhere = folder.newFolder();
    OrphanProcesses.end(elsewhere);
    assertTrue(other.isAlive());
  }
}
