package org.loomcard.yarn.state;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.Test;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.bridge.BridgeStatus;
import org.loomcard.yarn.bridge.ConfigSwapResult;

/**
 * The policy process and the scheduler's state know the same reservations while applications,
 * nodes, labels and asks come, change and go, other policies are swapped in and processes die. The
 * policy, reserver.py beside this class, reports which reservations it sees.
 */
public class ReservationAgreementTest extends ChurnTestBase {
  private static final String YAML = "version: 1\nkind: policy\npolicy: reserver.py:Reserver\n"
      + "reservation_share: 60%\nreservation_nodes: %n\noptions: {seed: %d}\n";
  private static final int STEPS = 120;
  private static final ObjectMapper JSON = new ObjectMapper();
  private int seen;

  private String reported() {
    String report = scheduler.bridge().status().reports().get("root.default");
    try {
      return report == null ? "" : JSON.readTree(report).path("reservations").asText();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String scheduler() {
    List<String> reservations = new ArrayList<>();
    for (Reservation reservation : scheduler.cluster().reservations().all()) {
      reservations.add(reservation.attempt.number() + ":" + reservation.priority() + ":"
          + reservation.allocationRequestId() + " on " + reservation.node.number());
    }
    return String.join(";", reservations);
  }

  private void assertSameReservations(String when) throws Exception {
    try {
      SchedulerTestBase.until("the same reservations", () -> reported().equals(scheduler()));
    } catch (AssertionError e) {
      throw new AssertionError(when + ": the scheduler has " + scheduler() + ", the policy "
          + reported(), e);
    }
    seen += scheduler().isEmpty() ? 0 : 1;
  }

  /** Returns a policy configuration with one, two or three reservations for an application. */
  private static String yaml(int seed) {
    return YAML.replace("%d", "" + seed).replace("%n", "" + (1 + seed / 39 % 3));
  }

  private void swap(int seed) throws Exception {
    ConfigSwapResult result = scheduler.bridge().swap(yaml(seed), "own.yml", null, 90_000);
    assertTrue(result.toString(), result.isApplied());
  }

  private void kill() throws Exception {
    String process = scheduler.bridge().status().process;
    new ProcessBuilder("kill", "-KILL", process.replace("pid ", "")).start().waitFor();
    SchedulerTestBase.until("another process", () -> {
      BridgeStatus status = scheduler.bridge().status();
      return status.state == BridgeStatus.State.UP && !status.process.equals(process);
    });
  }

  /** After every step, swap and start of a process both sides have the same reservations. */
  @Test
  public void reservationsAreTheSameOnBothSides() throws Exception {
    labelled = true;
    queues = new String[] {"default"};
    largest = 32;
    stepsOfNode = 32;
    start(yaml(1));
    try {
      for (int step = 0; step < STEPS; step++) {
        if (step % 40 == 39) {
          swap(step);
        } else if (step % 40 == 19) {
          kill();
        }
        step(step);
        assertSameReservations("step " + step);
        assertNoResync(step);
      }
      BridgeStatus status = scheduler.bridge().status();
      assertTrue(seen + " steps with reservations", seen > STEPS / 4);
      assertTrue("allocated " + status.counters.allocated(),
          status.counters.allocated() > STEPS / 6);
      assertEquals("[]", status.faults.toString());
    } finally {
      rm.stop();
    }
  }
}
