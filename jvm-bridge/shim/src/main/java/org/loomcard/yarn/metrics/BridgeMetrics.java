package org.loomcard.yarn.metrics;

import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.hadoop.metrics2.MetricsCollector;
import org.apache.hadoop.metrics2.MetricsException;
import org.apache.hadoop.metrics2.MetricsInfo;
import org.apache.hadoop.metrics2.MetricsRecordBuilder;
import org.apache.hadoop.metrics2.MetricsSource;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.metrics2.lib.Interns;
import org.loomcard.yarn.bridge.BridgeStatus;
import org.loomcard.yarn.rounds.BridgeCounters;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The bridge's counters, and the figures that policies report, as a source of Hadoop's metrics. So
 * they are in {@code /jmx}, in {@code /prom} and in every sink that the ResourceManager is
 * configured with.
 */
public final class BridgeMetrics implements MetricsSource {
  static final String NAME = "LoomcardBridge";
  private static final Logger LOG = LoggerFactory.getLogger(BridgeMetrics.class);
  private final Supplier<BridgeStatus> status;
  private final ShimMetrics metrics;

  public BridgeMetrics(Supplier<BridgeStatus> status, ShimMetrics metrics) {
    this.status = status;
    this.metrics = metrics;
  }

  /**
   * Registers the source. If another one has this name, it logs a warning: a scheduler also works
   * without metrics.
   */
  public void register() {
    try {
      DefaultMetricsSystem.instance().register(NAME, "The bridge to the policy process", this);
    } catch (MetricsException e) {
      LOG.warn("The bridge has no metrics: {}", e.getMessage());
    }
  }

  public void unregister() {
    DefaultMetricsSystem.instance().unregisterSource(NAME);
  }

  @Override
  public void getMetrics(MetricsCollector collector, boolean all) {
    BridgeStatus now = status.get();
    BridgeCounters counters = now.counters;
    MetricsRecordBuilder record = collector.addRecord(NAME).setContext("yarn")
        .tag(info("State", "Who schedules"), now.state.name().toLowerCase(Locale.ROOT))
        .tag(info("ConfigHash", "The policy configuration that governs"),
        now.applied.policyConfig.hash)
        .addGauge(info("ConfigVersion", "Version of the policy configuration that governs"),
        now.applied.version)
        .addGauge(info("Up", "1 while the policy schedules, 0 otherwise"),
            now.state == BridgeStatus.State.UP ? 1 : 0)
        .addGauge(info("StalledQueues", "Queues that the policy left waiting, not forgotten yet"),
            now.stalls.size())
        .addGauge(info("LastRoundMicros", "From the last batch to its plan's end"),
            counters.lastRoundMicros())
        .addGauge(info("NodeUpdateAgeMillis", "Since the last heartbeat of any node; -1: none yet"),
            metrics.sinceNodeUpdateMs())
        .addCounter(info("NodeUpdates", "Heartbeats of nodes"), metrics.nodeUpdates())
        .addCounter(info("RoundMicros", "LastRoundMicros, of all rounds together"),
            counters.roundMicros())
        .addCounter(info("Overdue", "Times the fallback served while a plan was awaited"),
            counters.overdue())
        .addCounter(info("Stalls", "Times a queue was served because its policy gave nothing"),
            counters.stalls())
        .addCounter(info("Rounds", "Rounds the policy was asked"), counters.rounds())
        .addCounter(info("Records", "Records sent"), counters.records())
        .addCounter(info("Late", "Plans refused whole"), counters.late())
        .addCounter(info("Cut", "Rounds in which a policy's time was over"), counters.cut())
        .addCounter(info("Resyncs", "Snapshots that the mirror asked for"), counters.resyncs())
        .addCounter(info("Faults", "Times a policy raised"), counters.faults())
        .addCounter(info("Failures", "Times the fallback took over"), counters.failures())
        .addCounter(info("Restarts", "Restarts of the policy process"), counters.restarts())
        .addCounter(info("Swaps", "Policy configurations applied"), counters.swaps())
        .addCounter(info("AllocatedByPolicy", "Containers that a plan placed"),
            metrics.allocatedByPolicy())
        .addCounter(info("AllocatedByFallback", "Containers that the fallback placed"),
            metrics.allocatedByFallback())
        .addCounter(info("Preempted", "Containers that a plan took back"), metrics.preempted());
    long refused = 0;
    for (Map.Entry<String, Long> each : metrics.refused().entrySet()) {
      String name = "Refused" + MetricNames.camel(each.getKey());
      record.addCounter(info(name, "Refused: " + each.getKey()), each.getValue());
      refused += each.getValue();
    }
    record.addCounter(info("Refused", "Decisions refused, by whatever reason"), refused);
    PolicyFigures.add(collector, now.reports());
  }

  private static MetricsInfo info(String name, String about) {
    return Interns.info(name, about);
  }
}
