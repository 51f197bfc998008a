package org.loomcard.yarn.bridge;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.PolicyConfigStore;
import org.loomcard.yarn.config.StateFolder;
import org.loomcard.yarn.json.JsonText;
import org.loomcard.yarn.rounds.RoundHistory;
import org.loomcard.yarn.wire.EngineClock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps what is needed to reproduce a fault of a policy elsewhere. One file, that only the
 * ResourceManager's user may read, contains the last rounds, the policy configuration with the
 * texts of its policies' files, the versions and the reason. {@code loomcard replay FILE} shows it.
 *
 * <p>A thread of its own writes them: a disk that hangs must hold up no other writes.
 */
final class Capsules {
  static final String FOLDER = "capsules";
  static final int KEPT = 10;
  /** A fault that is repeated must not push out all others. */
  private static final long EVERY_MS = 60_000;
  /** How many may wait for the disk; others are dropped. */
  private static final int WAITING = 2;
  private static final Logger LOG = LoggerFactory.getLogger(Capsules.class);
  private static final DateTimeFormatter NAME =
      DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss-SSS").withZone(ZoneOffset.UTC);
  private final Path stateDir;
  private final EngineClock clock;
  private final RoundHistory history;
  private final String hello;
  private final Map<String, Long> keptAtMs = new HashMap<>();
  private final ThreadPoolExecutor writer = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS,
      new ArrayBlockingQueue<>(WAITING), Capsules::daemon,
      (task, executor) -> LOG.warn("A capsule is dropped: earlier ones are not written yet"));

  /** @param hello the request by which the process learned what it is connected to */
  Capsules(File stateDir, EngineClock clock, RoundHistory history, String hello) {
    this.stateDir = stateDir.toPath();
    this.clock = clock;
    this.history = history;
    this.hello = hello;
    writer.prestartCoreThread(); // later there may be no thread left to start
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "loomcard-capsules");
    thread.setDaemon(true);
    return thread;
  }

  /** Waits for what is being written, at most {@code ms}. */
  void stop(long ms) throws InterruptedException {
    writer.shutdown();
    writer.awaitTermination(ms, TimeUnit.MILLISECONDS);
  }

  /**
   * Keeps one capsule. Call it on the round thread; the file is written on another one.
   *
   * @param kind what went wrong: stalled, late, failed or raised
   */
  void keep(String kind, String reason, AppliedConfig applied, String process) {
    long nowMs = clock.nowMs();
    String fault = kind + " " + applied.version;
    Long before = keptAtMs.get(fault);
    List<String> lines = history.lines();
    if (before != null && nowMs - before < EVERY_MS || lines.isEmpty()) {
      return;
    }
    keptAtMs.values().removeIf(atMs -> nowMs - atMs >= EVERY_MS);
    keptAtMs.put(fault, nowMs);
    String about = about(kind, reason, applied, process);
    Path folder = stateDir.resolve(FOLDER);
    String name = "capsule-" + NAME.format(Instant.ofEpochMilli(clock.epochMs() + nowMs)) + "-"
        + kind + ".zip";
    writer.execute(() -> write(folder, name, about, applied, lines));
  }

  private String about(String kind, String reason, AppliedConfig applied, String process) {
    StringBuilder out = new StringBuilder("{\"kind\":\"").append(kind).append("\",\"reason\":");
    JsonText.quote(out, reason).append(",\"at_ms\":").append(clock.epochMs() + clock.nowMs());
    JsonText.quote(out.append(",\"process\":"), process);
    out.append(",\"version\":").append(applied.version).append(",\"hash\":");
    JsonText.quote(out, applied.policyConfig.hash).append(",\"source\":");
    JsonText.quote(out, applied.policyConfig.source).append(",\"hello\":").append(hello);
    return out.append("}\n").toString();
  }

  private void write(Path folder, String name, String about, AppliedConfig applied,
      List<String> lines) {
    Path draft = folder.resolve(name + ".draft");
    try {
      StateFolder.make(folder);
      Files.deleteIfExists(draft);
      Files.createFile(draft,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      try (ZipOutputStream out =
          new ZipOutputStream(new BufferedOutputStream(Files.newOutputStream(draft)))) {
        entry(out, "capsule.json", Collections.singletonList(about));
        String yaml = applied.yaml == null ? "" : applied.yaml;
        entry(out, "policy.yml", Collections.singletonList(yaml));
        addPolicies(out, applied);
        lines.set(0, RoundHistory.unpacked(lines.get(0)));
        entry(out, "journal.jsonl", lines);
      }
      Files.move(draft, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
      LOG.warn("What led to this is kept in {}; `loomcard replay` shows it again",
          folder.resolve(name));
      prune(folder);
    } catch (IOException | RuntimeException e) {
      LOG.warn("{} cannot be written: {}", folder.resolve(name), e.toString());
      delete(draft);
    }
  }

  private static void entry(ZipOutputStream out, String name, List<String> lines)
      throws IOException {
    out.putNextEntry(new ZipEntry(name));
    for (String line : lines) {
      out.write(line.getBytes(StandardCharsets.UTF_8));
      out.write('\n');
    }
    out.closeEntry();
  }

  /** Adds the texts of the policies' files that this configuration names. */
  private void addPolicies(ZipOutputStream out, AppliedConfig applied) throws IOException {
    Path copies = stateDir.resolve(PolicyConfigStore.COPIES);
    if (!Files.isDirectory(copies)) {
      return;
    }
    try (DirectoryStream<Path> found = Files.newDirectoryStream(copies, "*.py")) {
      for (Path copy : found) {
        String file = copy.getFileName().toString();
        if (applied.policyConfig.json.contains(file.substring(0, file.length() - 3))) {
          out.putNextEntry(new ZipEntry(PolicyConfigStore.COPIES + "/" + file));
          Files.copy(copy, out);
          out.closeEntry();
        }
      }
    }
  }

  /** Deletes the oldest files, and incomplete ones that a killed ResourceManager left. */
  private static void prune(Path folder) throws IOException {
    try (DirectoryStream<Path> torn = Files.newDirectoryStream(folder, "capsule-*.draft")) {
      for (Path draft : torn) {
        Files.deleteIfExists(draft);
      }
    }
    List<Path> capsules = new ArrayList<>();
    try (DirectoryStream<Path> found = Files.newDirectoryStream(folder, "capsule-*.zip")) {
      found.forEach(capsules::add);
    }
    Collections.sort(capsules);
    for (Path old : capsules.subList(0, Math.max(0, capsules.size() - KEPT))) {
      Files.deleteIfExists(old);
    }
  }

  private static void delete(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      LOG.debug("{} stays", file, e);
    }
  }
}
