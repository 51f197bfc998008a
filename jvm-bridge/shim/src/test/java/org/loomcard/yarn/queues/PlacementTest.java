package org.loomcard.yarn.queues;

import static org.junit.Assert.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.Test;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.wire.Golden;

/** Placement rules decide as in Python, and created queues become rows of the configuration. */
public class PlacementTest {
  private static JsonNode sets() throws Exception {
    return new ObjectMapper().readTree(new File(Golden.repository(),
        "tests/golden/placement.json"));
  }

  private static List<String> texts(JsonNode array) {
    List<String> found = new ArrayList<>();
    if (array != null) {
      array.forEach(each -> found.add(each.asText()));
    }
    return found;
  }

  private static String text(JsonNode value) {
    return value == null ? null : value.asText();
  }

  /** Python reads the same file: queue, rule, and the reasons. */
  @Test
  public void rulesDecideAsInPython() throws Exception {
    for (JsonNode set : sets()) {
      PolicyConfig config = PolicyConfig.read(set.get("compiled").toString())
          .withCreated(texts(set.get("created")));
      assertEquals(texts(set.get("created")), config.created());
      for (JsonNode each : set.get("cases")) {
        Placement.Outcome found = Placement.place(config.placement, new QueueNames(config),
            new Placement.Submission(each.get("user").asText(), () -> texts(each.get("groups")),
                text(each.get("name")), texts(each.get("tags")), text(each.get("queue"))));
        JsonNode expected = each.get("expect");
        assertEquals(each.toString(), text(expected.get("queue")), found.queue);
        assertEquals(each.toString(), expected.get("rule").asInt(), found.rule);
        assertEquals(each.toString(), texts(expected.get("why")), found.why);
      }
    }
  }

  /** They are numbered depth-first among the others, and have the template's keys. */
  @Test
  public void createdQueuesAreRows() throws Exception {
    PolicyConfig base = PolicyConfig.read(sets().get(0).get("compiled").toString());
    PolicyConfig grown = base.withCreated(Arrays.asList("root.users.b.c", "root.data.z",
        "root.data.a", "root.users.b.a", "root.nowhere.x", "root.etl", "root.data.deep.er"));
    assertEquals(Arrays.asList("root.data.a", "root.data.z", "root.users.b.a", "root.users.b.c"),
        grown.created());
    assertEquals(base.hash, grown.hash);
    PolicyConfig again = PolicyConfig.read(grown.json);
    assertEquals(grown.json, again.withCreated(again.created()).json);
    assertEquals(200_000, again.queue("root.data.a").maximum.ppm);
    assertEquals("fair", again.queue("root.data.a").policy);
    for (int i = 1; i < again.queues.size(); i++) {
      String path = again.queues.get(i).path;
      assertEquals(path.substring(0, path.lastIndexOf('.')),
          again.queues.get(again.queues.get(i).parent).path);
    }
    assertEquals(base.json, base.withCreated(new ArrayList<>()).json);
    assertEquals(new ArrayList<>(), base.withCreatedOf(base).created());
  }
}
