package org.loomcard.yarn.metrics;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.metrics2.AbstractMetric;
import org.apache.hadoop.metrics2.MetricsRecord;
import org.apache.hadoop.metrics2.MetricsTag;
import org.apache.hadoop.metrics2.impl.MetricsCollectorImpl;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.bridge.BridgeSamples;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.PolicyConfig;

/** The bridge in Hadoop's metrics. */
public class BridgeMetricsTest {
  private static BridgeMetrics source(ShimMetrics shim) throws Exception {
    return source(shim, new TreeMap<String, String>());
  }

  private static BridgeMetrics source(ShimMetrics shim, Map<String, String> reports)
      throws Exception {
    AppliedConfig governing = new AppliedConfig(PolicyConfig.read(ConfigText.oneQueue()), 3, null);
    return new BridgeMetrics(() -> BridgeSamples.status(governing, reports), shim);
  }

  /** Shows allocations by origin, refusals by reason and in total, the version and the state. */
  @Test
  public void countersAreShown() throws Exception {
    ShimMetrics shim = new ShimMetrics();
    shim.countPolicyAllocation();
    shim.countPolicyAllocation();
    shim.countFallbackAllocation();
    shim.countRefusals("NODE_FULL", 4);
    shim.countRefusals("LATE", 1);
    MetricsCollectorImpl collector = new MetricsCollectorImpl();
    source(shim).getMetrics(collector, true);
    MetricsRecord record = collector.getRecords().get(0);
    Map<String, Object> shown = new HashMap<>();
    for (AbstractMetric metric : record.metrics()) {
      shown.put(metric.name(), metric.value());
    }
    assertEquals(2L, shown.get("AllocatedByPolicy"));
    assertEquals(1L, shown.get("AllocatedByFallback"));
    assertEquals(4L, shown.get("RefusedNodeFull"));
    assertEquals(1L, shown.get("RefusedLate"));
    assertEquals(5L, shown.get("Refused"));
    assertEquals(3, shown.get("ConfigVersion"));
    for (String name : new String[] {"Up", "Rounds", "LastRoundMicros", "Late", "Resyncs"}) {
      assertNotNull(name, shown.get(name));
    }
    String state = null;
    for (MetricsTag tag : record.tags()) {
      state = tag.name().equals("State") ? tag.value() : state;
    }
    assertNotNull(state);
  }

  /**
   * A figure with a panel and a number is a gauge of a record of its queue. Other figures, plain
   * reports and the state of the journal give none, whatever is in them.
   */
  @Test
  public void figuresOfPoliciesAreShownByQueue() throws Exception {
    Map<String, String> reports = new TreeMap<>();
    reports.put("journal", "{\"trouble\":null,\"lost_rounds\":0}");
    reports.put("root.a", "{\"typed\":1,\"tables\":[],\"figures\":["
        + "{\"name\":\"used_share\",\"label\":\"held\",\"panel\":\"delta\",\"value\":0.25},"
        + "{\"name\":\"jobs\",\"label\":\"jobs\",\"value\":3},"
        + "{\"name\":\"none\",\"label\":\"none\",\"panel\":\"delta\",\"value\":null}]}");
    reports.put("root.b", "{\"figures\":[1,{\"panel\":\"x\",\"value\":2}]}");
    MetricsCollectorImpl collector = new MetricsCollectorImpl();
    source(new ShimMetrics(), reports).getMetrics(collector, true);
    StringBuilder shown = new StringBuilder();
    for (MetricsRecord record : collector.getRecords().subList(1, collector.getRecords().size())) {
      for (MetricsTag tag : record.tags()) {
        shown.append(record.name()).append(' ').append(tag.value()).append(' ');
      }
      for (AbstractMetric metric : record.metrics()) {
        shown.append(metric.name()).append('=').append(metric.value());
      }
    }
    assertEquals("LoomcardPolicy yarn LoomcardPolicy root.a UsedShare=0.25", shown.toString());
  }

  /** The age of the last heartbeat is measured by the monotonic clock. */
  @Test
  public void heartbeatsAgeByTheClockThatNeverJumps() {
    AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 1_000_000); // its zero is arbitrary
    ShimMetrics shim = new ShimMetrics(nanos::get);
    assertEquals(-1, shim.sinceNodeUpdateMs());
    shim.nodeUpdated();
    assertEquals(0, shim.sinceNodeUpdateMs());
    nanos.addAndGet(2_500_000);
    assertEquals(2, shim.sinceNodeUpdateMs());
    shim.nodeUpdated();
    assertEquals(0, shim.sinceNodeUpdateMs());
  }

  /** A second ResourceManager in the JVM is no failure, and a fail-over registers again. */
  @Test
  public void comesAndGoes() throws Exception {
    BridgeMetrics one = source(new ShimMetrics());
    BridgeMetrics other = source(new ShimMetrics());
    one.register();
    other.register();
    other.unregister();
    one.unregister();
    assertNull(DefaultMetricsSystem.instance().getSource(BridgeMetrics.NAME));
    one.register();
    assertNotNull(DefaultMetricsSystem.instance().getSource(BridgeMetrics.NAME));
    one.unregister();
  }
}
