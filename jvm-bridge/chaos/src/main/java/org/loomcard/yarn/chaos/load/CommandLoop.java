package org.loomcard.yarn.chaos.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Commands on standard input, answers and events on standard output, one JSON object per line. A
 * command is {@code {"id": 1, "do": "name", ...}}, its answer {@code {"id": 1, "ok": ...}} or
 * {@code {"id": 1, "error": "..."}}. Commands run in parallel, so that a slow one delays nothing.
 */
public final class CommandLoop {
  /** Carries out one command; what it returns is the answer. */
  public interface Handler {
    Object handle(String name, JsonNode command) throws Exception;
  }

  private final ObjectMapper json = new ObjectMapper();
  private final PrintStream out;

  /** Takes standard output for itself; all other output goes to standard error. */
  public CommandLoop() {
    out = System.out;
    System.setOut(System.err);
  }

  /** Writes an event, which answers no command. */
  public void event(String name, Map<String, Object> facts) {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("event", name);
    line.putAll(facts);
    write(line);
  }

  /** Serves until standard input ends. */
  public void serve(Handler handler) throws IOException {
    ExecutorService workers = Executors.newCachedThreadPool(runnable -> {
      Thread thread = new Thread(runnable, "chaos-command");
      thread.setDaemon(true);
      return thread;
    });
    BufferedReader in = new BufferedReader(
        new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode command = json.readTree(line);
      workers.execute(() -> answer(handler, command));
    }
  }

  private void answer(Handler handler, JsonNode command) {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("id", command.path("id").asInt());
    try {
      line.put("ok", handler.handle(command.path("do").asText(), command));
    } catch (Exception | Error e) {
      e.printStackTrace();
      line.put("error", e.toString());
    }
    write(line);
  }

  private void write(Map<String, Object> line) {
    try {
      String text = json.writeValueAsString(line);
      synchronized (out) {
        out.println(text);
        out.flush();
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
