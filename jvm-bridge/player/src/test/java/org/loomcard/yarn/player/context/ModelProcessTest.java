package org.loomcard.yarn.player.context;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.Test;

/** A models' process that does not answer any more is reported once. */
public class ModelProcessTest {
  private static final String WHAT = "the process of the application masters' models ";
  private static final long LONG_MS = 60_000;

  private final List<String> lost = new ArrayList<>();

  private ModelProcess started(String script, long patienceMs) throws IOException {
    return new ModelProcess(Arrays.asList("/bin/sh", "-c", script), patienceMs, lost::add);
  }

  @Test
  public void answersAreRead() throws IOException {
    String answer = "{\"asks\":[{\"priority\":20,\"request_id\":1,\"size\":[512,1],\"name\":\"*\","
        + "\"count\":3}],\"wake_ms\":null,\"state\":\"\"}";
    try (ModelProcess models = started("echo ready; read x; echo '" + answer + "'", LONG_MS)) {
      assertEquals(3, models.ask(new Heard("a")).asks.get(0).count);
    }
    assertEquals(Collections.emptyList(), lost);
  }

  @Test
  public void anEndIsReportedOnce() throws IOException {
    try (ModelProcess models = started("echo ready; read x; exit 3", LONG_MS)) {
      assertThrows(IOException.class, () -> models.ask(new Heard("a")));
      assertThrows(IOException.class, () -> models.ask(new Heard("b")));
    }
    assertEquals(Collections.singletonList(WHAT + "ended with status 3"), lost);
  }

  @Test
  public void aProcessThatHangsIsLostToo() throws IOException {
    try (ModelProcess models = started("echo ready; exec sleep 60", 300)) {
      assertThrows(IOException.class, () -> models.ask(new Heard("a")));
    }
    assertEquals(Collections.singletonList(WHAT + "has not answered for 300 ms"), lost);
  }

  @Test
  public void aProcessThatDoesNotBecomeReadyIsLost() {
    assertThrows(IOException.class, () -> started("exit 1", LONG_MS));
    assertEquals(Collections.singletonList(WHAT + "ended with status 1"), lost);
  }
}
