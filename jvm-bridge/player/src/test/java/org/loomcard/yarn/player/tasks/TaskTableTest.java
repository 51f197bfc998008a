package org.loomcard.yarn.player.tasks;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import org.junit.Before;
import org.junit.Test;
import org.loomcard.yarn.player.context.Scenario;

/** What runs next, and what a failure or a loss costs. */
public final class TaskTableTest {
  private Scenario.Application application;
  private TaskTable table;

  @Before
  public void makeTwoStages() {
    application = new Scenario.Application();
    application.maxAttempts = 2;
    application.stages = Arrays.asList(stage(10, 20, 30), stage(40));
    application.stages.get(1).after = new int[] {0};
    application.stages.get(0).nodes = Arrays.asList(
        Collections.singletonList("n1"), Collections.singletonList("n2"), Arrays.asList("n3"));
    application.stages.get(0).failsMs = Collections.singletonMap(1, new long[] {5, 6});
    table = new TaskTable(application, node -> node.equals("n3") ? "/r2" : "/r1");
  }

  private static Scenario.Stage stage(long... durations) {
    Scenario.Stage stage = new Scenario.Stage();
    stage.durationsMs = durations;
    return stage;
  }

  /** Its node first, then its rack, then the lowest index. */
  @Test
  public void aContainerGoesWhereItIsWanted() {
    assertEquals(Collections.singletonList(0), table.open());
    assertEquals(2, table.take(0, "n3").index);
    assertEquals(0, table.take(0, "n9").index);
    assertEquals(1, table.take(0, "n3").index);
    assertNull(table.take(0, "n1"));
  }

  @Test
  public void aStageOpensWhenThoseBeforeItHaveEnded() {
    table.open();
    Task first = table.take(0, "n1");
    Task third = table.take(0, "n3");
    table.ended(first, End.COMPLETED);
    table.ended(third, End.COMPLETED);
    assertTrue(table.open().isEmpty());
    Task second = table.take(0, "n2");
    table.lost(second);
    assertEquals(Collections.singletonList(1), Arrays.asList(table.waiting(0).toArray()));
    table.ended(table.take(0, "n2"), End.COMPLETED);
    assertEquals(Collections.singletonList(1), table.open());
    assertFalse(table.hasEnded());
    table.ended(table.take(1, "n1"), End.COMPLETED);
    assertTrue(table.hasEnded());
  }

  /** A failing attempt runs its own time; a loss between two failures does not count. */
  @Test
  public void tooManyFailuresEndTheApplication() {
    table.open();
    Task bad = table.take(0, "n2");
    assertEquals(5, bad.runMs);
    assertTrue(bad.fails);
    table.ended(bad, End.FAILED);
    assertFalse(table.hasFailed());
    Task again = table.take(0, "n2");
    assertEquals(2, again.attempt);
    table.lost(again);
    Task last = table.take(0, "n2");
    assertEquals(6, last.runMs);
    table.ended(last, End.FAILED);
    assertTrue(table.hasFailed());
  }

  /** Maps' outputs are copied one after another, none before its map has ended. */
  @Test
  public void aReduceCopiesAsMapsFinish() {
    Shuffle shuffle = new Shuffle(10, 3);
    shuffle.mapFinished(100);
    shuffle.mapFinished(105);
    assertFalse(shuffle.isComplete());
    shuffle.mapFinished(300);
    assertTrue(shuffle.isComplete());
    assertEquals(310, shuffle.copiedMs(50));
    assertEquals(430, shuffle.copiedMs(400));
  }
}
