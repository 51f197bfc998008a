package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.Arrays;
import org.junit.Test;
import org.loomcard.yarn.config.BridgeConfig;

/** A dry run answers like an apply, and changes nothing. */
public class DryRunTest extends BridgeTestBase {
  private static final int DEADLINE_MS = 80_000;

  /** A dry run says what would be used, and changes and keeps nothing. */
  @Test
  public void aDryRunChangesNothing() throws Exception {
    conf.set(BridgeConfig.JOURNAL_DIR, new File(folder.getRoot(), "journal").getPath());
    policyFile("", "return Plan(view)");
    start(false);
    ask(1);
    Until.waitUntil("allocated", () -> scheduler.running("policy") == 1);
    Until.waitUntil("the journal is written, which is done behind the rounds",
        () -> lines() == 1 + 2 * bridge.status().counters.rounds());
    String journal = journal();
    ConfigSwapResult tried = bridge.dryRun(OWN, "own.yml", DEADLINE_MS);
    assertEquals(tried.toString(), ConfigSwapResult.Outcome.WOULD_APPLY, tried.outcome);
    assertEquals(2, tried.version);
    assertTrue(tried.message, tried.message.contains("nothing was changed"));
    assertEquals("no round of the trial is in it", journal, journal());
    File kept = new File(folder.getRoot(), "state/applied-policies");
    assertFalse("the policy's text is not kept", kept.exists());
    goesOnAsBefore();
    ConfigSwapResult applied = bridge.swap(OWN, "own.yml", null, DEADLINE_MS);
    assertEquals("it governs as was said", tried.hash, applied.hash);
    assertTrue(kept.exists());
    assertEquals(2, applied.version);
  }

  /** It finds what an apply finds: errors in the file, a first round that raises, queues in use. */
  @Test
  public void aDryRunFindsWhatAnApplyWould() throws Exception {
    policyFile("", "raise ValueError('not today')");
    start(false);
    ConfigSwapResult wrong = bridge.dryRun("version: 1\nkind: policy\npolicy: drv\n", "bad.yml",
        DEADLINE_MS);
    assertEquals(ConfigSwapResult.Outcome.FINDINGS, wrong.outcome);
    assertUnchanged(wrong);
    ConfigSwapResult raising = bridge.dryRun(OWN, "own.yml", DEADLINE_MS);
    assertEquals(ConfigSwapResult.Outcome.FAILED, raising.outcome);
    assertTrue(raising.message, raising.message.contains("root") && raising.message.contains(
        "ValueError: not today; nothing was changed"));
    assertUnchanged(raising);
    scheduler.refuseConfigurations();
    ConfigSwapResult inUse = bridge.dryRun(OWN, "own.yml", DEADLINE_MS);
    assertEquals(ConfigSwapResult.Outcome.REFUSED, inUse.outcome);
    assertEquals(Arrays.asList("application_1_0001"), inUse.applications);
    assertTrue(inUse.message, inUse.message.contains("ValueError: not today"));
    assertUnchanged(inUse);
    goesOnAsBefore();
  }

  /** Returns the journal's segments and their lengths now. */
  private String journal() {
    StringBuilder text = new StringBuilder();
    File[] segments = new File(folder.getRoot(), "journal").listFiles();
    for (File segment : segments == null ? new File[0] : segments) {
      text.append(segment.getName()).append(' ').append(segment.length()).append('\n');
    }
    return text.toString();
  }

  /** Returns the number of lines in the journal: one that opens a segment, and two per round. */
  private long lines() {
    long lines = 0;
    File[] segments = new File(folder.getRoot(), "journal").listFiles();
    for (File segment : segments == null ? new File[0] : segments) {
      try {
        lines += Files.readAllLines(segment.toPath()).size();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return lines;
  }
}
