package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertEquals;

import org.junit.Test;
import org.loomcard.yarn.policyconfig.BridgeConfig;

/** A real policy process that takes, prints or answers too much: the cluster goes on. */
public class BoundsTest extends BridgeTestBase {

  /** 200 MB on standard output without a line's end harm nobody, not even the policy. */
  @Test
  public void aPolicyThatPrintsALotGoesOn() throws Exception {
    start(true);
    granted(2);
    write("orders", "flood once");
    ask(3);
    Until.waitUntil("it printed and granted", () -> !orders.exists()
        && books.running("policy") + books.running("fallback") == 5);
    ask(1);
    Until.waitUntil("and grants on", () -> books.wanted() == 0
        && bridge.status().state == BridgeStatus.State.UP);
    assertEquals(0, bridge.status().counters.failures());
  }

  /** A reply beyond the limit opens the breaker, with the setting's name. */
  @Test
  public void aHugeReplyOpensTheBreaker() throws Exception {
    conf.setInt(BridgeConfig.PROCESS_MAX_REPLY_MB, 1);
    misbehaves("huge", "the reply is longer than 1 MiB (loomcard.process.max-reply-mb)");
  }

  /** A policy that wants more memory than it may have fails alone; another process follows. */
  @Test
  public void aGluttonOpensTheBreaker() throws Exception {
    conf.setInt(BridgeConfig.PROCESS_MAX_MEMORY_MB, 1024);
    misbehaves("glutton", "MemoryError");
  }
}
