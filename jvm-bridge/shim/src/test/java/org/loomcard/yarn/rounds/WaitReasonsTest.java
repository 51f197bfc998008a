package org.loomcard.yarn.rounds;

import static org.junit.Assert.assertEquals;

import java.util.Arrays;
import java.util.Collections;
import java.util.stream.Collectors;
import org.junit.Test;
import org.loomcard.yarn.wire.PlanMessage;

/** The last reason reported for an ask stands until another one comes. */
public class WaitReasonsTest {
  private final WaitReasons reasons = new WaitReasons();

  private static PlanMessage.Wait wait(int attempt, String reason) {
    return new PlanMessage.Wait(attempt, 20, 0, reason);
  }

  private String shown() {
    return reasons.copy().stream().map(w -> w.attempt + " " + w.reason).sorted()
        .collect(Collectors.joining(", "));
  }

  /** A plan that says nothing of an ask does not take its reason away. */
  @Test
  public void aReasonStandsUntilAnotherComes() {
    reasons.update(Arrays.asList(wait(1, "NODE_FULL"), wait(2, "QUEUE_MAX")));
    reasons.update(Collections.<PlanMessage.Wait>emptyList());
    reasons.update(Collections.singletonList(wait(1, "LOCALITY")));
    assertEquals("1 LOCALITY, 2 QUEUE_MAX", shown());
  }

  /** After a snapshot the policy reports all reasons again. */
  @Test
  public void aSnapshotForgetsThem() {
    reasons.update(Collections.singletonList(wait(1, "NODE_FULL")));
    reasons.clear();
    assertEquals("", shown());
  }

  /** What was reported longest ago goes first when there are too many. */
  @Test
  public void theyAreBounded() {
    for (int attempt = 1; attempt <= 20_005; attempt++) {
      reasons.update(Collections.singletonList(wait(attempt, "NODE_FULL")));
    }
    assertEquals(20_000, reasons.copy().size());
    assertEquals(6, reasons.copy().get(0).attempt);
  }
}
