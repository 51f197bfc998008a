package org.loomcard.yarn.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import org.junit.Test;

/** Explanations and sentences from a real Python process. */
public final class ExplanationsTest extends BridgeTestBase {
  private static final long WITHIN_MS = 60_000;
  private static final ObjectMapper JSON = new ObjectMapper();

  private JsonNode explained(String kind, String name) {
    try {
      return JSON.readTree(bridge.explain(kind, name, WITHIN_MS));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** Nine containers are asked for, eight fit: the ninth waits, until one ends. */
  @Test
  public void anApplicationIsExplainedAndDiagnosed() throws Exception {
    start(false);
    allocated(TinySchedulerState.SLOTS);
    ask(1);
    Until.waitUntil("the reason is known", () -> explained("application", "application_1_0001")
        .path("code").asText().equals("NODE_FULL"));
    JsonNode found = explained("application", "application_1_0001");
    JsonNode bound = found.path("asks").path(0).path("binding").path(0);
    assertEquals(1024, bound.path("short").path("memory_mb").asInt());
    assertEquals("Nobody is ahead of it", found.path("order").path("text").asText());
    Until.waitUntil("diagnostics say it", () -> scheduler.sentence != null);
    assertTrue(scheduler.sentence, scheduler.sentence.contains("NODE_FULL"));
    assertEquals("NODE_FULL", explained("queue", "root").path("code").asText());
    assertTrue(explained("application", "application_1_0002").isNull());
    scheduler.endAll();
    bridge.signal();
    Until.waitUntil("it is served", () -> scheduler.wanted() == 0);
    Until.waitUntil("diagnostics say nothing more", () -> scheduler.sentence == null);
  }

  /** Without a policy process there is no explanation, and diagnostics say who serves. */
  @Test
  public void theFallbackIsNamed() throws Exception {
    start(false);
    allocated(TinySchedulerState.SLOTS);
    ask(1);
    Until.waitUntil("diagnostics say it", () -> scheduler.sentence != null);
    starts.acquire();
    signalProcess("KILL");
    Until.waitUntil("diagnostics name the fallback",
        () -> scheduler.sentence != null && scheduler.sentence.contains("FALLBACK"));
    assertNull(bridge.explain("queue", "root", WITHIN_MS));
    starts.release();
    Until.waitUntil("they say the cause again",
        () -> scheduler.sentence != null && scheduler.sentence.contains("NODE_FULL"));
  }
}
