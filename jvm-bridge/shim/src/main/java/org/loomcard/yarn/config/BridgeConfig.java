package org.loomcard.yarn.config;

import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;

/**
 * The settings of Loomcard in the ResourceManager, typed and read once. Every key of Loomcard is
 * named here; docs/operate/bridge.md says what each means. A file that is not set is null. A bad
 * value causes an {@link IllegalArgumentException} that names key, value and expectation.
 */
public final class BridgeConfig {
  public static final String SETUP_PATH = "loomcard.setup.path";
  public static final String POLICY_FILE = "loomcard.policy.file";
  public static final String POLICY_PATH = "loomcard.policy.path";
  public static final String STATE_DIR = "loomcard.state.dir";
  public static final String STATE_SHARED = "loomcard.state.shared";
  public static final String STATE_DEADLINE_MS = "loomcard.state.deadline-ms";
  public static final String JOURNAL_DIR = "loomcard.journal.dir";
  public static final String JOURNAL_SEGMENT_ROUNDS = "loomcard.journal.segment-rounds";
  public static final String JOURNAL_MAX_MB = "loomcard.journal.max-mb";
  public static final String PYTHON = "loomcard.python";
  public static final String PROCESS_MAX_MEMORY_MB = "loomcard.process.max-memory-mb";
  public static final String PROCESS_MAX_REPLY_MB = "loomcard.process.max-reply-mb";
  public static final String MAX_ASK_KEYS = "loomcard.attempt.max-ask-keys";
  public static final String MAX_KEY_ROWS = "loomcard.attempt.max-key-rows";
  public static final String MAX_ASK_ROWS = "loomcard.attempt.max-ask-rows";
  public static final String MAX_ASK_SIZES = "loomcard.attempt.max-ask-sizes";
  public static final String MAX_BLACKLIST = "loomcard.attempt.max-blacklist";
  public static final String MAX_USER_ROWS = "loomcard.user.max-ask-rows";
  public static final String MAX_USER_SIZES = "loomcard.user.max-ask-sizes";
  public static final String MAX_USER_BLACKLIST = "loomcard.user.max-blacklist";
  public static final String ROUND_DEADLINE_MS = "loomcard.round.deadline-ms";
  public static final String ROUND_HARD_DEADLINE_MS = "loomcard.round.hard-deadline-ms";
  public static final String ROUND_SNAPSHOT_MICROS = "loomcard.round.snapshot-record-us";
  public static final String ROUND_BATCH_DELAY_MS = "loomcard.round.batch-delay-ms";
  public static final String ROUND_MAX_CONTAINERS = "loomcard.round.max-containers";
  public static final String ROUND_REFUSED = "loomcard.round.refused-before-snapshot";
  public static final String PROGRESS_DEADLINE_MS = "loomcard.progress.deadline-ms";
  public static final String PROGRESS_LONGEST_WAIT_MS = "loomcard.progress.longest-wait-ms";
  public static final String BREAKER_FAILURES = "loomcard.breaker.failures";
  public static final String RESTART_BACKOFF_MS = "loomcard.restart.backoff-ms";
  public static final String RESTART_BACKOFF_MAX_MS = "loomcard.restart.backoff-max-ms";
  public static final String START_GRACE_MS = "loomcard.start.grace-ms";
  public static final String START_DEADLINE_MS = "loomcard.start.deadline-ms";
  public static final String SAVED_EVERY_MS = "loomcard.saved.every-ms";
  public static final String SWAP_DEADLINE_MS = "loomcard.swap.deadline-ms";
  public static final String APPLY_ANY_ADMIN = "loomcard.apply.any-admin";
  public static final String APPLY_UNAUTHENTICATED = "loomcard.apply.unauthenticated";
  public static final String METRICS_BY_USER = "loomcard.metrics.by-user";
  public static final String INLINE_WAIT_MS = "loomcard.inline.wait-ms";

  static { // names of the earlier version; Hadoop logs a warning with the new one
    Configuration.addDeprecation("loomcard.round.hold-ms", ROUND_BATCH_DELAY_MS);
  }

  /** How often the watchdog for progress looks within its deadline. */
  public static final int PROGRESS_LOOKS = 16;

  public final File setupPath;
  public final File policyFile;
  public final List<String> policyPath;
  public final File stateDir;
  public final boolean stateShared;
  public final long stateDeadlineMs;
  public final File journalDir;
  public final int journalSegmentRounds;
  public final int journalMaxMb;
  public final String python;
  public final long processMaxMemoryMb;
  public final long processMaxReplyMb;
  public final int maxAskKeys;
  public final int maxKeyRows;
  public final int maxAskRows;
  public final int maxAskSizes;
  public final int maxBlacklist;
  public final int maxUserRows;
  public final int maxUserSizes;
  public final int maxUserBlacklist;
  public final long roundDeadlineMs;
  public final long roundHardDeadlineMs;
  public final long roundSnapshotMicros;
  public final long batchDelayMs;
  public final int roundMaxContainers;
  public final int refusedRounds;
  public final long progressDeadlineMs;
  public final long progressLongestWaitMs;
  public final int breakerFailures;
  public final long restartBackoffMs;
  public final long restartBackoffMaxMs;
  public final long startGraceMs;
  public final long startDeadlineMs;
  public final long savedEveryMs;
  public final long swapDeadlineMs;
  public final boolean applyAnyAdmin;
  public final boolean applyUnauthenticated;
  public final boolean metricsByUser;
  public final long inlineWaitMs;

  public BridgeConfig(Configuration conf) {
    setupPath = file(conf, SETUP_PATH, null);
    policyFile = file(conf, POLICY_FILE, null);
    policyPath = folders(conf, POLICY_PATH);
    stateDir = file(conf, STATE_DIR, defaultStateDir(conf));
    stateShared = bool(conf, STATE_SHARED, false);
    stateDeadlineMs = number(conf, STATE_DEADLINE_MS, 5000, 1, 3_600_000);
    journalDir = file(conf, JOURNAL_DIR, null);
    journalSegmentRounds = (int) number(conf, JOURNAL_SEGMENT_ROUNDS, 1000, 1, 1_000_000);
    journalMaxMb = (int) number(conf, JOURNAL_MAX_MB, 1024, 1, 1 << 24);
    python = conf.getTrimmed(PYTHON, "python3");
    processMaxMemoryMb = number(conf, PROCESS_MAX_MEMORY_MB, 0, 0, 1 << 24);
    processMaxReplyMb = number(conf, PROCESS_MAX_REPLY_MB, 32, 1, 1024);
    maxAskKeys = (int) number(conf, MAX_ASK_KEYS, 2000, 1, 1_000_000);
    maxKeyRows = (int) number(conf, MAX_KEY_ROWS, 10_000, 1, 10_000_000);
    maxAskRows = (int) number(conf, MAX_ASK_ROWS, 200_000, 1, 10_000_000);
    maxAskSizes = (int) number(conf, MAX_ASK_SIZES, 500, 1, 1_000_000);
    maxBlacklist = (int) number(conf, MAX_BLACKLIST, 2000, 1, 10_000_000);
    maxUserRows = (int) number(conf, MAX_USER_ROWS, 500_000, 1, 100_000_000);
    maxUserSizes = (int) number(conf, MAX_USER_SIZES, 2000, 1, 1_000_000);
    maxUserBlacklist = (int) number(conf, MAX_USER_BLACKLIST, 20_000, 1, 100_000_000);
    roundDeadlineMs = number(conf, ROUND_DEADLINE_MS, 1000, 1, 3_600_000);
    roundHardDeadlineMs = number(conf, ROUND_HARD_DEADLINE_MS, 10_000, 1, 3_600_000);
    roundSnapshotMicros = number(conf, ROUND_SNAPSHOT_MICROS, 100, 0, 1_000_000);
    batchDelayMs = number(conf, ROUND_BATCH_DELAY_MS, 2, 0, 1000);
    roundMaxContainers = (int) number(conf, ROUND_MAX_CONTAINERS, 500, 1, 10_000_000);
    refusedRounds = (int) number(conf, ROUND_REFUSED, 10, 1, 1_000_000);
    progressDeadlineMs = number(conf, PROGRESS_DEADLINE_MS, 10_000, 0, 86_400_000);
    progressLongestWaitMs = number(conf, PROGRESS_LONGEST_WAIT_MS, 600_000, 0, 86_400_000);
    breakerFailures = (int) number(conf, BREAKER_FAILURES, 3, 1, 1000);
    restartBackoffMs = number(conf, RESTART_BACKOFF_MS, 500, 1, 3_600_000);
    restartBackoffMaxMs = number(conf, RESTART_BACKOFF_MAX_MS, 30_000, 1, 3_600_000);
    startGraceMs = number(conf, START_GRACE_MS, 1500, 0, 3_600_000);
    startDeadlineMs = number(conf, START_DEADLINE_MS, 30_000, 1, 3_600_000);
    savedEveryMs = number(conf, SAVED_EVERY_MS, 5000, 0, 3_600_000);
    swapDeadlineMs = number(conf, SWAP_DEADLINE_MS, 20_000, 1, 3_600_000);
    applyAnyAdmin = bool(conf, APPLY_ANY_ADMIN, false);
    applyUnauthenticated = bool(conf, APPLY_UNAUTHENTICATED, false);
    metricsByUser = bool(conf, METRICS_BY_USER, false);
    inlineWaitMs = number(conf, INLINE_WAIT_MS, 0, 0, 60_000);
    if (roundHardDeadlineMs < roundDeadlineMs) {
      throw bad(ROUND_HARD_DEADLINE_MS, String.valueOf(roundHardDeadlineMs),
          "at least " + ROUND_DEADLINE_MS + " (" + roundDeadlineMs + ")");
    }
    if (python.isEmpty()) {
      throw bad(PYTHON, "", "the path of a Python interpreter that has the package loomcard");
    }
  }

  /**
   * Returns the default state folder. Hadoop's own default for temporary files is a folder of /tmp:
   * any user may have created our folder there first, and the next boot may clear it.
   */
  private static File defaultStateDir(Configuration conf) {
    String temporary = conf.get("hadoop.tmp.dir");
    boolean isHadoopsDefault = temporary == null
        || temporary.equals("/tmp/hadoop-" + System.getProperty("user.name"));
    return isHadoopsDefault ? new File(System.getProperty("user.home"), ".loomcard")
        : new File(temporary, "loomcard");
  }

  private static long number(Configuration conf, String key, long absent, long least, long most) {
    String text = conf.getTrimmed(key);
    if (text == null) {
      return absent;
    }
    String expectation = "an integer from " + least + " to " + most;
    try {
      long value = Long.parseLong(text);
      if (value < least || value > most) {
        throw bad(key, text, expectation);
      }
      return value;
    } catch (NumberFormatException e) {
      throw bad(key, text, expectation);
    }
  }

  private static boolean bool(Configuration conf, String key, boolean absent) {
    String text = conf.getTrimmed(key);
    if (text == null) {
      return absent;
    }
    if (!text.equals("true") && !text.equals("false")) {
      throw bad(key, text, "true or false");
    }
    return text.equals("true");
  }

  private static File file(Configuration conf, String key, File absent) {
    String text = conf.getTrimmed(key);
    if (text == null || text.isEmpty()) {
      return absent;
    }
    File file = new File(text);
    if (!file.isAbsolute()) {
      throw bad(key, text, "an absolute path");
    }
    return file;
  }

  private static List<String> folders(Configuration conf, String key) {
    String text = conf.getTrimmed(key, "");
    List<String> folders = new ArrayList<>();
    for (String folder : text.isEmpty() ? Collections.<String>emptyList()
        : Arrays.asList(text.split("[:,]"))) {
      if (!new File(folder.trim()).isAbsolute()) {
        throw bad(key, text, "absolute paths with : between them");
      }
      folders.add(folder.trim());
    }
    return Collections.unmodifiableList(folders);
  }

  private static IllegalArgumentException bad(String key, String value, String expectation) {
    return new IllegalArgumentException(key + " = \"" + value + "\" in yarn-site.xml: expected "
        + expectation);
  }
}
