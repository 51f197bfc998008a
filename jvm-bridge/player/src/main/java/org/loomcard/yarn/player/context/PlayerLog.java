package org.loomcard.yarn.player.context;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;

/** The player's own log, player.jsonl: one JSON object per line, times in ms since 1970. */
public final class PlayerLog implements Closeable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final BufferedWriter out;

  public PlayerLog(File file) throws IOException {
    out = Files.newBufferedWriter(file.toPath(), StandardCharsets.UTF_8);
  }

  /** Returns a line to fill in and to {@link #write}. */
  public static ObjectNode line(String event) {
    return JSON.createObjectNode().put("at_ms", System.currentTimeMillis()).put("event", event);
  }

  /** Writes a whole line at once, because readers follow the file while it grows. */
  public synchronized void write(ObjectNode line) {
    try {
      out.write(line.toString());
      out.newLine();
      out.flush();
    } catch (IOException e) {
      throw new IllegalStateException("cannot write the player's log: " + e.getMessage(), e);
    }
  }

  @Override
  public synchronized void close() throws IOException {
    out.close();
  }
}
