package org.loomcard.yarn.state;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import org.junit.Test;
import org.loomcard.yarn.rounds.BridgeCounters;

/**
 * The mirror of the policy process and the scheduler's state agree, whatever happens on the
 * cluster.
 */
public class MirrorAgreementTest extends ChurnTestBase {
  /**
   * Three hundred steps of churn cause no resync, no fallback, and no decision that the scheduler's
   * state forbids.
   */
  @Test
  public void churn() throws Exception {
    live(300, "version: 1\nkind: policy\npolicy: drf\nqueues:\n  a: {policy: drf, weight: 2}\n"
        + "  b: {policy: fifo, maximum: 60%, user_limit: 50%}\n");
  }

  /** The same is true while nodes move to other partitions, some of which lend. */
  @Test
  public void churnOfLabels() throws Exception {
    labelled = true;
    live(200, "version: 1\nkind: policy\npolicy: drf\nqueues:\n  a: {policy: drf}\n"
        + "  b: {policy: fifo, maximum: 60%, label_maximum: {gpu: 50%}}\n");
  }

  private void live(int steps, String yaml) throws Exception {
    start(yaml);
    try {
      for (int step = 0; step < steps; step++) {
        step(step);
        assertNoResync(step);
      }
      BridgeCounters counters = scheduler.bridge().status().counters;
      assertTrue("allocated " + counters.allocated(), counters.allocated() > steps / 2);
      assertEquals(0, counters.allocatedByFallback());
      assertEquals(0, counters.faults());
      assertEquals(scheduler.metrics().allocatedByPolicy(), counters.allocated());
      assertEquals("refused: " + scheduler.metrics(), 0, counters.refused());
    } finally {
      rm.stop();
    }
  }
}
