package org.loomcard.yarn.player.context;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Says which tasks of an application must start now, for its application master that plans itself:
 * the process loomcard.player.planner, which the simulator's masters share their plans with. One
 * JSON object a line each way, after a first line that says that it is ready.
 */
public class Planner implements Closeable {
  /** No task is known that must start later. */
  public static final long NEVER = Long.MAX_VALUE;

  private final File python;
  private final File input;
  private final ObjectMapper json = Scenario.json();
  private Process process;
  private BufferedWriter questions;
  private BufferedReader answers;

  /** How an application stands. */
  public static final class Question {
    public String application;
    public long nowMs;
    /** What its tasks may hold in all, in the order of the scenario's types. */
    public long[] share;
    /** Of each stage, how many tasks have not started. */
    public int[] waiting;
    /** Of each running task its stage, and when it was started. */
    public List<long[]> running = new ArrayList<>();
  }

  /** What it does now. */
  public static final class Decision {
    /** Of each stage, how many tasks must start now. */
    public int[] must;
    /** When, after now, the next task must start; null: none is known. */
    public Long nextMs;
  }

  /** {@code python}: the interpreter, null where no application plans itself. */
  public Planner(File python, File input) {
    this.python = python;
    this.input = input;
  }

  /**
   * Asks, and waits for the answer.
   *
   * @throws UncheckedIOException where the process was not started, or has ended
   */
  public synchronized Decision decide(Question question) {
    try {
      if (process == null) {
        throw new IOException("an application's asks are altruistic, and there is no --planner");
      }
      questions.write(json.writeValueAsString(question));
      questions.newLine();
      questions.flush();
      return json.readValue(answer(), Decision.class);
    } catch (IOException e) {
      throw new UncheckedIOException("the planner of must-starts: " + e.getMessage(), e);
    }
  }

  private String answer() throws IOException {
    String answer = answers.readLine();
    if (answer == null) {
      throw new IOException("it has ended; its last words are above in this log");
    }
    return answer;
  }

  /** Starts it, if there is one, and waits until it is ready: no application waits for that. */
  public synchronized void start() throws IOException {
    if (python == null) {
      return;
    }
    process = new ProcessBuilder(python.getPath(), "-P", "-m", "loomcard.player.planner",
        input.getPath()).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    questions = new BufferedWriter(
        new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
    answers = new BufferedReader(
        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    answer();
  }

  /** The process ends with its input, also where this one is killed. */
  @Override
  public synchronized void close() throws IOException {
    if (process != null) {
      questions.close();
    }
  }
}
