package org.loomcard.yarn.rounds;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import java.util.Arrays;
import java.util.Collections;
import org.junit.Test;
import org.loomcard.yarn.wire.PlanMessage;

/** The last reason reported for an ask stays until another one comes. */
public class WaitReasonsTest {
  private final WaitReasons reasons = new WaitReasons();

  private static PlanMessage.Wait wait(int attempt, String reason) {
    return new PlanMessage.Wait(attempt, 20, 0, reason, null);
  }

  private void update(PlanMessage.Wait... waits) {
    reasons.update(Arrays.asList(waits), Collections.<PlanMessage.QueueWait>emptyList());
  }

  private String shown() {
    return reasons.reason(1, 20, 0) + ", " + reasons.reason(2, 20, 0);
  }

  /** A plan that does not mention an ask does not remove its reason. */
  @Test
  public void aReasonStandsUntilAnotherComes() {
    update(wait(1, "NODE_FULL"), wait(2, "QUEUE_MAX"));
    update();
    update(wait(1, "LOCALITY"));
    assertEquals("LOCALITY, QUEUE_MAX", shown());
  }

  /** After a snapshot the policy reports all reasons again. */
  @Test
  public void aSnapshotForgetsThem() {
    update(wait(1, "NODE_FULL"));
    reasons.clear();
    assertEquals("null, null", shown());
  }

  /** If there are too many reasons, the oldest report is removed first. */
  @Test
  public void theyAreBounded() {
    for (int attempt = 1; attempt <= 20_005; attempt++) {
      update(wait(attempt, "NODE_FULL"));
    }
    assertNull(reasons.reason(5, 20, 0));
    assertEquals("NODE_FULL", reasons.reason(6, 20, 0));
  }

  /** A rule is stated for an ask or for a queue; a reason without a rule takes it back. */
  @Test
  public void aRuleIsStatedUntilAnotherReasonComes() {
    reasons.update(Collections.singletonList(new PlanMessage.Wait(1, 20, 0, "SHARE", 9000L)),
        Collections.singletonList(new PlanMessage.QueueWait(3, "SLOTS", 7000)));
    assertEquals(9000, reasons.untilMs(1, 20, 0));
    assertEquals(7000, reasons.of(3).untilMs);
    assertNull("none of another queue", reasons.of(2));
    update(wait(1, "NODE_FULL"));
    assertEquals(-1, reasons.untilMs(1, 20, 0));
    assertEquals("NODE_FULL", reasons.reason(1, 20, 0));
  }
}
