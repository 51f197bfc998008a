package org.loomcard.yarn.config;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.io.File;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.junit.Test;

/** The settings: defaults, and one clear error for a bad value. */
public class BridgeConfigTest {

  /** Without settings the defaults of the documentation are used. */
  @Test
  public void hasDefaults() {
    Configuration conf = new Configuration(false);
    conf.set("hadoop.tmp.dir", "/tmp/hadoop");
    BridgeConfig config = new BridgeConfig(conf);
    assertEquals(1000, config.roundDeadlineMs);
    assertEquals(10_000, config.roundHardDeadlineMs);
    assertEquals("python3", config.python);
    assertEquals(new File("/tmp/hadoop/loomcard"), config.stateDir);
    assertNull(config.journalDir);
    assertTrue(config.policyPath.isEmpty());
  }

  /** A list of folders may be separated by colons and commas. */
  @Test
  public void readsFolders() {
    Configuration conf = new Configuration(false);
    conf.set(BridgeConfig.POLICY_PATH, "/a:/b, /c");
    assertEquals(Arrays.asList("/a", "/b", "/c"), new BridgeConfig(conf).policyPath);
  }

  /** The error names key, value and expectation. */
  @Test
  public void refusesBadValues() {
    refused(BridgeConfig.ROUND_DEADLINE_MS, "1s", "expected an integer from 1 to 3600000");
    refused(BridgeConfig.ROUND_DEADLINE_MS, "0", "expected an integer from 1 to 3600000");
    refused(BridgeConfig.ROUND_HARD_DEADLINE_MS, "999",
        "at least loomcard.round.deadline-ms (1000)");
    refused(BridgeConfig.PROCESS_MAX_MEMORY_MB, "8g", "expected an integer from 0");
    refused(BridgeConfig.JOURNAL_MAX_MB, "0", "expected an integer from 1");
    refused(BridgeConfig.MAX_ASK_KEYS, "0", "expected an integer from 1");
    refused(BridgeConfig.MAX_KEY_ROWS, "0", "expected an integer from 1");
    refused(BridgeConfig.MAX_ASK_ROWS, "0", "expected an integer from 1");
    refused(BridgeConfig.APPLY_ANY_ADMIN, "yes", "expected true or false");
    refused(BridgeConfig.STATE_DIR, "var/state", "expected an absolute path");
    refused(BridgeConfig.POLICY_PATH, "/a:b", "expected absolute paths");
    refused(BridgeConfig.PYTHON, " ", "expected the path of a Python interpreter");
  }

  private static void refused(String key, String value, String expectation) {
    Configuration conf = new Configuration(false);
    conf.set(key, value);
    try {
      new BridgeConfig(conf);
      fail(key + " = " + value + " was taken");
    } catch (IllegalArgumentException e) {
      assertTrue(e.getMessage(), e.getMessage().startsWith(key + " = \"" + value.trim() + "\""));
      assertTrue(e.getMessage(), e.getMessage().contains(expectation));
    }
  }

  /** A key with the name that the previous version used is read, and Hadoop logs the new name. */
  @Test
  public void formerKeysAreRead() {
    Configuration conf = new Configuration(false);
    new BridgeConfig(conf);
    conf.set("loomcard.round.hold-ms", "7");
    assertEquals(7, new BridgeConfig(conf).batchDelayMs);
  }
}
