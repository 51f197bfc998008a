package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.junit.Test;
import org.loomcard.yarn.config.BridgeConfig;

/** When a policy fails, what led to it is kept in one file, and only a few files are kept. */
public class CapsulesTest extends BridgeTestBase {

  private File[] capsules() {
    File[] found = new File(conf.get(BridgeConfig.STATE_DIR), "capsules")
        .listFiles((dir, name) -> name.endsWith(".zip"));
    File[] sorted = found == null ? new File[0] : found;
    Arrays.sort(sorted);
    return sorted;
  }

  private static String text(ZipFile zip, String name) throws Exception {
    ZipEntry entry = zip.getEntry(name);
    byte[] bytes = new byte[(int) entry.getSize()];
    int read = 0;
    try (java.io.InputStream in = zip.getInputStream(entry)) {
      while (read < bytes.length) {
        read += in.read(bytes, read, bytes.length - read);
      }
    }
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /**
   * A killed process leaves the rounds from the snapshot on and the configuration, readable by the
   * owner only.
   */
  @Test
  public void theEndOfTheProcessIsKept() throws Exception {
    start(false);
    allocated(2);
    signalProcess("KILL");
    ask(1);
    Until.waitUntil("a capsule", () -> capsules().length == 1);
    File capsule = capsules()[0];
    assertTrue(capsule.getName(), capsule.getName().endsWith("-failed.zip"));
    Path folder = capsule.getParentFile().toPath();
    assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)));
    assertEquals("rw-------",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(capsule.toPath())));
    try (ZipFile zip = new ZipFile(capsule)) {
      String about = text(zip, "capsule.json");
      assertTrue(about, about.startsWith("{\"kind\":\"failed\",\"reason\":\""));
      assertTrue(about, about.contains("\"hello\":[\"hello\","));
      String[] lines = text(zip, "journal.jsonl").split("\n");
      assertTrue(lines[0], lines[0].startsWith("[\"segment\",{\"hello\":[\"hello\","));
      assertTrue(lines[1], lines[1].startsWith("[\"batch\",1,"));
      assertTrue(lines[1], lines[1].contains("\"snapshot\""));
      assertTrue(lines[2], lines[2].startsWith("[\"plan\",1,"));
      assertFalse("a folder of this machine", lines[0].contains("journal_dir\":\""));
      text(zip, "policy.yml");
    }
    comesBack();
  }

  /** The next ResourceManager removes what a killed one left half written. */
  @Test
  public void aTornDraftGoes() throws Exception {
    Path folder = new File(conf.get(BridgeConfig.STATE_DIR), "capsules").toPath();
    Files.createDirectories(folder);
    Path torn = Files.createFile(folder.resolve("capsule-20200101-000000-000-failed.zip.draft"));
    start(false);
    allocated(2);
    signalProcess("KILL");
    ask(1);
    Until.waitUntil("a capsule", () -> capsules().length == 1);
    Until.waitUntil("the draft is gone", () -> !Files.exists(torn));
    comesBack();
  }

  /** A capsule that the disk does not take keeps nothing else from being written. */
  @Test
  public void aDiskThatHangsHoldsUpNoSwap() throws Exception {
    start(false);
    allocated(2);
    Path copies = Files.createDirectories(
        new File(conf.get(BridgeConfig.STATE_DIR), "applied-policies").toPath());
    Path pipe = copies.resolve("fifo.py"); // a policy in force: the capsule reads its text
    assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
    signalProcess("KILL");
    ask(1);
    comesBack();
    AtomicReference<ConfigSwapResult> result = new AtomicReference<>();
    Thread swap = new Thread(() -> result.set(bridge.swap(DRF, "drf.yml", null, 60_000)));
    swap.setDaemon(true);
    swap.start();
    Until.waitUntil("it was swapped", () -> result.get() != null);
    assertTrue(result.get().toString(), result.get().isApplied());
    assertEquals("the capsule still waits", 0, capsules().length);
    Files.write(pipe, new byte[0]);
    Until.waitUntil("a capsule", () -> capsules().length == 1);
  }

  /** A fault that repeats is kept at most once per minute. */
  @Test
  public void theSameFaultIsKeptOnce() throws Exception {
    start(false);
    allocated(1);
    for (int times = 0; times < 3; times++) {
      long failures = bridge.status().counters.failures();
      signalProcess("KILL");
      Until.waitUntil("the breaker opened", () -> bridge.status().counters.failures() > failures);
      comesBack();
    }
    assertEquals(1, capsules().length);
  }
}
