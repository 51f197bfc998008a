package org.loomcard.yarn.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Arrays;
import java.util.Collections;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.Test;
import org.loomcard.yarn.status.ExplanationStatus;

/** Explanations over HTTP, from a real ResourceManager's web server. */
public final class ExplainTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String PATH = "/ws/v1/cluster/loomcard/explain";
  private static RunningRm manager;

  @BeforeClass
  public static void start() throws Exception {
    manager = RunningRm.start(IdleScheduler.class, new YarnConfiguration());
    IdleScheduler.STATUS.explanations.put("application a1", new ExplanationStatus(
        "{\"code\":\"NODE_FULL\",\"queue\":\"root.b\",\"sentence\":\"No room\"}", "ACCEPTED",
        "said", Arrays.asList("n2:1 is UNHEALTHY (disk)")));
    IdleScheduler.STATUS.explanations.put("application a2", new ExplanationStatus("null", "FAILED",
        "Queue root.b is STOPPED.", Collections.<String>emptyList()));
  }

  @AfterClass
  public static void stop() {
    IdleScheduler.STATUS.explanations.clear();
    manager.stop();
  }

  /** The policy process's document comes with what only Java knows. */
  @Test
  public void documentHasBothParts() throws Exception {
    RunningRm.Answer answer = manager.get(PATH + "?application=a1", "*/*");
    assertEquals(200, answer.status);
    JsonNode found = JSON.readTree(answer.body);
    assertEquals("NODE_FULL", found.path("code").asText());
    assertEquals("No room. Unusable: n2:1 is UNHEALTHY (disk)", found.path("sentence").asText());
    assertEquals("ACCEPTED", found.path("state").asText());
    assertEquals("said", found.path("diagnostics").asText());
    assertTrue(found.path("bridge").path("since_ms").asLong() > 0);
  }

  /** An application that the scheduler does not have is explained by YARN's own diagnostics. */
  @Test
  public void refusedApplicationIsExplained() throws Exception {
    JsonNode found = JSON.readTree(manager.get(PATH + "?application=a2", "*/*").body);
    assertTrue(found.toString(), found.path("sentence").asText().contains("STOPPED"));
  }

  @Test
  public void wrongQuestionsAreRefused() throws Exception {
    assertEquals(404, manager.get(PATH + "?application=a3", "*/*").status);
    assertEquals(404, manager.get(PATH + "?queue=root.none", "*/*").status);
    assertEquals(400, manager.get(PATH, "*/*").status);
    assertEquals(400, manager.get(PATH + "?queue=root&application=a1", "*/*").status);
  }
}
