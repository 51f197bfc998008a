package org.loomcard.yarn.commit;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import org.apache.hadoop.yarn.api.protocolrecords.KillApplicationRequest;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.SchedulerTestBase;
import org.loomcard.yarn.ScriptedScheduler;

/** Submissions while a configuration is tried: either configuration may be used afterwards. */
public class TrialGateTest extends SchedulerTestBase {
  private static final String OLD = new ConfigText().queue("root", -1, false, "")
      .queue("root.both", 0, true, "").queue("root.old", 0, true, "")
      .queue("root.split", 0, true, "").text();
  private static final String NEW = new ConfigText().queue("root", -1, false, "")
      .queue("root.both", 0, true, "").queue("root.new", 0, true, "")
      .queue("root.split", 0, false, "").queue("root.split.leaf", 3, true, "")
      .text().replace("\"h\"", "\"h2\"");

  private void startTrial() throws Exception {
    ScriptedScheduler.policyConfig = OLD;
    startRm();
    rounds.beginTrial();
    rounds.apply(NEW);
  }

  private RMApp submitTo(String queue) throws Exception {
    return submit(application().withQueue(queue));
  }

  private void ends(RMApp app, RMAppState state) throws Exception {
    rm.waitForState(app.getApplicationId(), state);
  }

  /** An application is known to the scheduler only after it is accepted. */
  private void waits(RMApp app) {
    assertEquals(RMAppState.SUBMITTED, app.getState());
    assertNull(scheduler.cluster().application(app.getApplicationId()));
  }

  /**
   * A configuration can be taken back though an application was submitted to a queue that only it
   * has. An application in a queue that it lacks gets in, and all others never waited.
   */
  @Test
  public void aTrialIsTakenBackWhateverWasSubmitted() throws Exception {
    startTrial();
    RMApp both = submitTo("both");
    ends(both, RMAppState.ACCEPTED);
    RMApp fresh = submitTo("new");
    RMApp leaf = submitTo("root.split.leaf");
    RMApp old = submitTo("root.old");
    RMApp split = submitTo("split");
    for (RMApp app : new RMApp[] {fresh, leaf, old, split}) {
      waits(app);
    }
    rounds.apply(OLD);
    rounds.endTrial();
    ends(fresh, RMAppState.FAILED);
    ends(leaf, RMAppState.FAILED);
    assertTrue(fresh.getDiagnostics().toString(), fresh.getDiagnostics().toString()
        .contains("to unknown queue: "));
    ends(old, RMAppState.ACCEPTED);
    ends(split, RMAppState.ACCEPTED);
    assertEquals(RMAppState.ACCEPTED, both.getState());
  }

  /**
   * When it is used, its queues are there for the waiting applications, and queues that it lacks
   * are gone.
   */
  @Test
  public void whoWaitedGetsInWhenTheTrialWentWell() throws Exception {
    startTrial();
    RMApp fresh = submitTo("new");
    RMApp leaf = submitTo("leaf");
    RMApp old = submitTo("old");
    waits(fresh);
    rounds.endTrial();
    ends(fresh, RMAppState.ACCEPTED);
    ends(leaf, RMAppState.ACCEPTED);
    ends(old, RMAppState.FAILED);
    assertEquals(2, scheduler.cluster().applications().size());
    RMApp later = submitTo("new");
    ends(later, RMAppState.ACCEPTED);
  }

  /** An application that is killed while it waits never comes in. */
  @Test
  public void whoIsKilledWhileItWaitsNeverComesIn() throws Exception {
    startTrial();
    RMApp killed = submitTo("new");
    RMApp other = submitTo("new");
    waits(killed);
    rm.getClientRMService().forceKillApplication(
        KillApplicationRequest.newInstance(killed.getApplicationId()));
    ends(killed, RMAppState.KILLED);
    rm.drainEvents();
    rounds.endTrial();
    ends(other, RMAppState.ACCEPTED);
    assertEquals(1, scheduler.cluster().applications().size());
    assertEquals(RMAppState.KILLED, killed.getState());
  }

  /** An application that waits through one trial waits through the next, too. */
  @Test
  public void oneTrialAfterAnother() throws Exception {
    startTrial();
    RMApp fresh = submitTo("new");
    waits(fresh);
    rounds.apply(OLD);
    rounds.beginTrial();
    rounds.apply(NEW);
    rounds.endTrial();
    ends(fresh, RMAppState.ACCEPTED);
  }

  /** No application moves into a queue that may vanish, and the answer says why. */
  @Test
  public void nothingMovesIntoAQueueThatMayVanish() throws Exception {
    startTrial();
    RMApp app = submitTo("both");
    ends(app, RMAppState.ACCEPTED);
    YarnException refused = assertThrows(YarnException.class,
        () -> scheduler.moveApplication(app.getApplicationId(), "new"));
    assertTrue(refused.getMessage(), refused.getMessage().contains("is being tried; try again"));
    rounds.endTrial();
    assertEquals("root.new", scheduler.moveApplication(app.getApplicationId(), "new"));
  }
}
