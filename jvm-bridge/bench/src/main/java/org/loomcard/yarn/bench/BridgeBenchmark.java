package org.loomcard.yarn.bench;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Paths;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.util.ExitUtil;
import org.loomcard.yarn.LoomcardScheduler;
import org.loomcard.yarn.metrics.ShimMetrics;
import org.loomcard.yarn.rounds.RoundSteps;

/**
 * Loads one scheduler in this JVM: fills a cluster, warms up, then measures windows in the
 * saturated, the paced and the light phase. Prints one JSON object per window on standard output.
 */
public final class BridgeBenchmark {
  private static final double NANOS_PER_MS = 1e6;
  private static final double NANOS_PER_SECOND = 1e9;
  private static final long MS = 1000;

  private final BenchmarkSettings settings;
  private final SimulatedCluster cluster;
  private final ObjectMapper json = new ObjectMapper();

  private BridgeBenchmark(BenchmarkSettings settings) throws Exception {
    this.settings = settings;
    this.cluster = new SimulatedCluster(settings);
  }

  /** Runs as the arguments say; exits with 1 after a failure. */
  public static void main(String[] arguments) {
    ExitUtil.disableSystemExit();
    int status = 0;
    try {
      BridgeBenchmark benchmark = new BridgeBenchmark(new BenchmarkSettings(arguments));
      benchmark.run();
      benchmark.cluster.stop();
    } catch (Throwable failure) {
      failure.printStackTrace();
      status = 1;
    }
    System.out.flush();
    System.exit(status);
  }

  private void run() throws InterruptedException, IOException {
    cluster.fill();
    cluster.nodeDriver.enter(NodeDriver.Phase.SATURATED);
    Thread.sleep(settings.warmSeconds * MS);
    for (int i = 0; i < settings.windows; i++) {
      measure("saturated", i, settings.windowSeconds);
    }
    cluster.nodeDriver.enter(NodeDriver.Phase.PACED);
    measure(MasterDriver.Load.PACED, settings.pacedWindows);
    measure(MasterDriver.Load.LIGHT, settings.lightWindows);
    if (settings.trace != null) {
      cluster.watch.writeTrace(Paths.get(settings.trace));
    }
  }

  private void measure(MasterDriver.Load load, int windows)
      throws InterruptedException, JsonProcessingException {
    if (windows == 0) {
      return;
    }
    cluster.masterDriver.enter(load);
    Thread.sleep(settings.settleSeconds * MS);
    cluster.watch.trace(load.name().toLowerCase(Locale.ROOT), steps());
    for (int i = 0; i < windows; i++) {
      measure(load.name().toLowerCase(Locale.ROOT), i, settings.pacedWindowSeconds);
    }
    cluster.watch.trace(null, null);
  }

  /** The steps of our rounds; null where they are not wanted. */
  private RoundSteps steps() {
    return settings.trace == null ? null
        : ((LoomcardScheduler) cluster.scheduler()).bridge().status().counters.steps();
  }

  private void measure(String phase, int window, int seconds)
      throws InterruptedException, JsonProcessingException {
    cluster.watch.drain();
    CpuUse cpu = CpuUse.now();
    long allocations = cluster.watch.allocations();
    long updates = cluster.nodeDriver.updates();
    long rounds = rounds();
    long start = System.nanoTime();
    Thread.sleep(seconds * MS);
    long nanos = System.nanoTime() - start;
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("scheduler", settings.scheduler);
    line.put("phase", phase);
    line.put("window", window);
    line.put("seconds", nanos / NANOS_PER_SECOND);
    line.put("allocations", cluster.watch.allocations() - allocations);
    line.put("node_updates", cluster.nodeDriver.updates() - updates);
    line.put("cpu_seconds", CpuUse.now().since(cpu));
    line.put("wait_ms", quantiles(cluster.watch.drain()));
    line.put("rounds", rounds() - rounds);
    line.put("decided", decided());
    cluster.masterDriver.check();
    System.out.println(json.writeValueAsString(line));
  }

  private long rounds() {
    return cluster.scheduler() instanceof LoomcardScheduler
        ? ((LoomcardScheduler) cluster.scheduler()).bridge().status().counters.rounds() : 0;
  }

  /**
   * Returns who decided our containers since the start, and what was refused; empty for the others.
   */
  private Map<String, Long> decided() {
    Map<String, Long> counts = new TreeMap<>();
    if (cluster.scheduler() instanceof LoomcardScheduler) {
      ShimMetrics metrics = ((LoomcardScheduler) cluster.scheduler()).metrics();
      metrics.refused().forEach((reason, count) -> counts.put("refused " + reason, count));
      counts.put("policy", metrics.allocatedByPolicy());
      counts.put("fallback", metrics.allocatedByFallback());
    }
    return counts;
  }

  private static Map<String, Double> quantiles(long[] sorted) {
    Map<String, Double> waits = new LinkedHashMap<>();
    if (sorted.length > 0) {
      waits.put("p50", sorted[(sorted.length - 1) / 2] / NANOS_PER_MS);
      waits.put("p99", sorted[(int) ((sorted.length - 1) * 0.99)] / NANOS_PER_MS);
      waits.put("max", sorted[sorted.length - 1] / NANOS_PER_MS);
    }
    return waits;
  }
}
