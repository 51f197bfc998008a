package org.loomcard.yarn.bench;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * CPU seconds so far, by group of threads: Java threads from the JVM's own clocks, its compiler and
 * collector threads from /proc (ticks of 10 ms), the policy process from the operating system.
 */
final class CpuUse {
  private static final double TICK_SECONDS = 0.01;
  private static final double NANOS = 1e9;
  private static final int COMM_LIMIT = 15;

  private final Map<String, Double> secondsByThread = new HashMap<>();
  private final Map<String, String> groupByThread = new HashMap<>();

  private CpuUse() {
  }

  static CpuUse now() {
    CpuUse use = new CpuUse();
    use.addJavaThreads();
    use.addJvmThreads();
    ProcessHandle.current().descendants().forEach(child -> use.add("child" + child.pid(), "python",
        child.info().totalCpuDuration().orElse(Duration.ZERO).toMillis() / 1e3));
    return use;
  }

  /**
   * Returns the seconds used since {@code earlier}, by group, without threads that ended meanwhile.
   */
  Map<String, Double> since(CpuUse earlier) {
    Map<String, Double> seconds = new TreeMap<>();
    secondsByThread.forEach((thread, used) -> seconds.merge(groupByThread.get(thread),
        used - earlier.secondsByThread.getOrDefault(thread, 0.0), Double::sum));
    return seconds;
  }

  private void add(String thread, String group, double seconds) {
    secondsByThread.put(thread, seconds);
    groupByThread.put(thread, group);
  }

  private void addJavaThreads() {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    for (ThreadInfo thread : threads.getThreadInfo(threads.getAllThreadIds())) {
      long nanos = thread == null ? -1 : threads.getThreadCpuTime(thread.getThreadId());
      if (nanos >= 0) {
        add("java" + thread.getThreadId(), javaGroup(thread.getThreadName()), nanos / NANOS);
      }
    }
  }

  private static String javaGroup(String name) {
    if (name.startsWith(BenchmarkResourceManager.SCHEDULER_DISPATCHER)) {
      return "scheduler";
    }
    if (name.equals(BenchmarkResourceManager.RM_DISPATCHER)) {
      return "dispatcher";
    }
    if (name.equals(MasterDriver.THREAD)) {
      return "masters";
    }
    if (name.equals(NodeDriver.THREAD)) {
      return "nodes";
    }
    return name.toLowerCase().startsWith("loomcard") ? "round" : "other";
  }

  private void addJvmThreads() {
    try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Paths.get("/proc/self/task"))) {
      for (Path task : tasks) {
        addJvmThread(task);
      }
    } catch (IOException e) {
      throw new IllegalStateException("/proc/self/task cannot be read; this needs Linux", e);
    }
  }

  private void addJvmThread(Path task) {
    String stat;
    try {
      stat = new String(Files.readAllBytes(task.resolve("stat")), StandardCharsets.UTF_8);
    } catch (IOException e) {
      return; // the thread has ended since the folder was listed
    }
    int close = stat.lastIndexOf(')');
    String group = jvmGroup(stat.substring(stat.indexOf('(') + 1, close));
    if (group != null) {
      // After the name: state is field 0, utime and stime are fields 11 and 12.
      String[] fields = stat.substring(close + 2).split(" ");
      long ticks = Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
      add("task" + task.getFileName(), group, ticks * TICK_SECONDS);
    }
  }

  /** Returns the group of a thread that is not a Java thread, by its name as the kernel cuts it. */
  private static String jvmGroup(String name) {
    if (is(name, "C1 CompilerThread") || is(name, "C2 CompilerThread")) {
      return "jit";
    }
    return name.startsWith("G1 ") || name.startsWith("GC Thread") || name.startsWith("VM ")
        ? "gc" : null;
  }

  private static boolean is(String name, String full) {
    return name.equals(full.substring(0, COMM_LIMIT));
  }
}
