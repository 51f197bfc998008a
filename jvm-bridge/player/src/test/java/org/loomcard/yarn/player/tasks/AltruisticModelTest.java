package org.loomcard.yarn.player.tasks;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.junit.Before;
import org.junit.Test;
import org.loomcard.yarn.player.context.Asks;
import org.loomcard.yarn.player.context.Planner;
import org.loomcard.yarn.player.context.Scenario;
import org.loomcard.yarn.player.context.Topology;

/** Which asks an application master marks how, and when it asks for another plan. */
public final class AltruisticModelTest {
  private static final long DEFAULT = (1L << 40) + 1;
  private static final long ALTRUISTIC = (1L << 41) + 1;

  private final Scenario.Application application = new Scenario.Application();
  private final List<Planner.Question> questions = new ArrayList<>();
  private final Planner planner = new Planner(null, null) {
    @Override
    public Decision decide(Question question) {
      questions.add(question);
      Decision decision = new Decision();
      decision.must = new int[] {1, 0};
      return decision;
    }
  };
  private Asks asks;
  private AltruisticModel model;

  @Before
  public void make() {
    Scenario scenario = new Scenario();
    scenario.resourceTypes = Arrays.asList("memory_mb", "vcores");
    scenario.nodes = new ArrayList<>();
    application.id = "j";
    application.asks = "altruistic";
    application.stages = Arrays.asList(stage(1, 3), stage(2, 1));
    application.stages.get(1).after = new int[] {0};
    Topology topology = new Topology(scenario, new java.util.HashMap<>());
    asks = new Asks(topology);
    TaskTable table = new TaskTable(application, topology::rack);
    model = new AltruisticModel(application, table, asks, topology, planner);
    model.begin();
  }

  private static Scenario.Stage stage(long request, int tasks) {
    Scenario.Stage stage = new Scenario.Stage();
    stage.size = new long[] {1024, 1};
    stage.priority = 20;
    stage.requestId = request;
    stage.durationsMs = new long[tasks];
    return stage;
  }

  private String changes() {
    StringBuilder text = new StringBuilder();
    for (ResourceRequest each : asks.changes()) {
      long id = each.getAllocationRequestId();
      text.append(id == DEFAULT ? "default " : id == ALTRUISTIC ? "altruistic " : id + " ")
          .append(each.getNumContainers()).append("; ");
    }
    return text.toString();
  }

  private void hear(int slots) {
    model.heard(Resource.newInstance(1024L * slots, slots), true);
  }

  /** Nothing must start while the share is unknown; the first answer does not hold it. */
  @Test
  public void allMayWaitUntilTheShareIsKnown() {
    assertEquals("altruistic 3; ", changes());
    hear(100);
    assertEquals("", changes());
    assertEquals(0, questions.size());
  }

  /** One row goes down, the other up. */
  @Test
  public void whatMustStartMovesToTheOtherAsk() {
    changes();
    hear(100);
    hear(2);
    assertEquals("default 1; altruistic 2; ", changes());
    Planner.Question asked = questions.get(0);
    assertEquals("[2048, 2] [3, 1]",
        Arrays.toString(asked.share) + " " + Arrays.toString(asked.waiting));
  }

  /** Same share, nothing started or ended: the same plan. */
  @Test
  public void aPlanIsMadeAgainOnlyForAReason() {
    hear(100);
    hear(2);
    hear(2);
    assertEquals(1, questions.size());
    hear(3);
    assertEquals(2, questions.size());
    Use use = allocated(0);
    hear(3);
    assertEquals(3, questions.size());
    assertEquals("[2, 1]", Arrays.toString(questions.get(2).waiting));
    model.ended(use, End.COMPLETED);
    hear(3);
    assertEquals(4, questions.size());
  }

  /** An allocation on either ask is for a task of the stage; beyond its tasks it goes back. */
  @Test
  public void bothAsksAreForTheStage() {
    hear(100);
    hear(2);
    changes();
    assertEquals(0, model.stage(1));
    assertEquals(1, model.stage(2));
    assertNotNull(allocated(0));
    assertEquals("", changes());
    assertNotNull(allocated(1));
    assertNotNull(allocated(1));
    assertNull(model.allocated(1, "n1"));
  }

  private Use allocated(int key) {
    asks.rows(key).allocated("n1");
    Use use = model.allocated(key, "n1");
    use.launchedMs = 1;
    return use;
  }
}
