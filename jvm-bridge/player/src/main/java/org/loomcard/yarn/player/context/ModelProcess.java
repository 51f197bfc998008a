package org.loomcard.yarn.player.context;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The process that runs the models of all application masters, loomcard.player.model_process; the
 * simulator uses the same models. The first line says that the process is ready; after that, each
 * message in either direction is one JSON object per line.
 */
public final class ModelProcess implements Closeable {
  private static final String END = "";

  private final ObjectMapper json = Scenario.json();
  private final long patienceMs;
  private final Consumer<String> lost;
  private final Process process;
  private final BufferedWriter questions;
  private final LinkedBlockingQueue<String> answers = new LinkedBlockingQueue<>();
  private boolean isLost;

  /**
   * Starts the process, and waits until it is ready, so that no application waits for that.
   *
   * @param command the process with its arguments
   * @param patienceMs how long an answer may take, in ms
   * @param lost is called once, with the reason, when the process does not answer any more
   * @throws IOException if the process cannot be started
   */
  public ModelProcess(List<String> command, long patienceMs, Consumer<String> lost)
      throws IOException {
    this.patienceMs = patienceMs;
    this.lost = lost;
    process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    questions = new BufferedWriter(
        new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
    PlayerContext.daemon(this::read).start();
    answer();
  }

  /**
   * Sends what happened, and waits for the answer.
   *
   * @throws IOException if the process has ended, or does not answer in time
   */
  public synchronized Said ask(Heard heard) throws IOException {
    if (isLost) {
      throw new IOException("the models' process is lost");
    }
    try {
      questions.write(json.writeValueAsString(heard));
      questions.newLine();
      questions.flush();
    } catch (IOException e) {
      throw lose(ended());
    }
    return json.readValue(answer(), Said.class);
  }

  private String answer() throws IOException {
    String answer = null;
    try {
      answer = answers.poll(patienceMs, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (answer == null) {
      throw lose("has not answered for " + patienceMs + " ms");
    }
    if (answer.equals(END)) {
      throw lose(ended());
    }
    return answer;
  }

  private String ended() {
    try {
      if (process.waitFor(1, TimeUnit.SECONDS)) {
        return "ended with status " + process.exitValue();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return "has closed its pipe";
  }

  private IOException lose(String how) {
    isLost = true;
    process.destroyForcibly();
    String why = "the process of the application masters' models " + how;
    lost.accept(why);
    return new IOException(why);
  }

  private void read() {
    try (BufferedReader lines = new BufferedReader(
        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      String line = lines.readLine();
      while (line != null) {
        answers.add(line);
        line = lines.readLine();
      }
    } catch (IOException expected) {
      // Counts as an end.
    }
    answers.add(END);
  }

  /** Ends the process, even if it hangs. */
  @Override
  public void close() {
    process.destroyForcibly();
  }
}
