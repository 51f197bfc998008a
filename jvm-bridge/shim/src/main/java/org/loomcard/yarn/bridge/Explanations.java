package org.loomcard.yarn.bridge;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.JsonText;
import org.loomcard.yarn.json.MessageException;
import org.loomcard.yarn.process.PolicyFailureException;
import org.loomcard.yarn.process.RunningPolicy;
import org.loomcard.yarn.rounds.PolicyRounds;
import org.loomcard.yarn.rounds.SchedulerState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the policy process between two rounds why applications wait: on request for one application
 * or queue, and each second for the sentences that YARN's diagnostics show. On the round thread,
 * except {@link #ask}.
 */
final class Explanations {
  private static final Logger LOG = LoggerFactory.getLogger(Explanations.class);
  /** How many questions may wait at a time. */
  private static final int MOST = 16;
  /** The pause before a question is repeated whose answer is not complete. */
  private static final long AGAIN_MS = 20;
  private static final long SENTENCES_EVERY_MS = 1000;
  /** How many applications' sentences may change at a time. */
  private static final int SENTENCES = 2000;
  private static final String EXPLAINED = "[\"explained\",";
  private final PolicyRounds rounds;
  private final SchedulerState scheduler;
  private final boolean diagnoses;
  private final Runnable signal;
  private final Queue<Question> questions = new ConcurrentLinkedQueue<>();
  private final AtomicInteger open = new AtomicInteger();
  private RunningPolicy told;
  private boolean silent;
  private long againAtMs;
  private long sentencesAtMs;

  /** A question of a web thread. */
  private static final class Question {
    private final String request;
    private final CompletableFuture<String> answer = new CompletableFuture<>();

    private Question(String request) {
      this.request = request;
    }
  }

  /** @param signal called when there is a question */
  Explanations(BridgeConfig config, PolicyRounds rounds, SchedulerState scheduler,
      Runnable signal) {
    this.rounds = rounds;
    this.scheduler = scheduler;
    this.diagnoses = config.inlineWaitMs == 0;
    this.signal = signal;
  }

  /**
   * Returns the policy process's explanation as JSON, {@code null} in JSON if it knows no such
   * application or queue. Any thread may call it.
   *
   * @param kind {@code application}, {@code queue} or {@code asks}
   * @return null when no policy process answers in {@code withinMs}
   */
  String ask(String kind, String name, long withinMs) throws InterruptedException {
    if (open.incrementAndGet() > MOST) {
      open.decrementAndGet();
      return null;
    }
    StringBuilder request = new StringBuilder("[\"explain\",");
    JsonText.quote(JsonText.quote(request, kind).append(','), name).append(']');
    Question question = new Question(request.toString());
    questions.add(question);
    signal.run();
    try {
      return question.answer.get(withinMs, TimeUnit.MILLISECONDS);
    } catch (TimeoutException | ExecutionException e) {
      return null;
    } finally {
      questions.remove(question);
      open.decrementAndGet();
    }
  }

  /** Answers that no policy process does, and lets diagnostics say why. */
  void without(long nowMs, String why) {
    told = null;
    for (Question each : questions) {
      each.answer.complete(null);
    }
    questions.clear();
    if (diagnoses && nowMs >= sentencesAtMs) {
      sentencesAtMs = nowMs + SENTENCES_EVERY_MS;
      scheduler.diagnoseAll(why);
    }
  }

  /** Asks what is due. */
  void step(RunningPolicy policy, long nowMs) throws PolicyFailureException {
    if (!questions.isEmpty() && nowMs >= againAtMs) {
      againAtMs = nowMs + AGAIN_MS;
      for (Question each : questions) {
        answer(policy, each);
      }
    }
    if (policy != told) { // it does not know what an earlier one said
      told = policy;
      silent = false;
      scheduler.diagnoseAll(null);
    }
    if (diagnoses && !silent && nowMs >= sentencesAtMs) {
      sentencesAtMs = nowMs + SENTENCES_EVERY_MS;
      if (scheduler.isDiagnosing() || scheduler.hasDemand()) {
        sentences(rounds.ask(policy, "[\"sentences\"," + SENTENCES + "]"));
      }
    }
  }

  /** Returns how long the round thread may wait before the next step, at most {@code most}. */
  long toNextMs(long nowMs, long most) {
    long next = questions.isEmpty() ? Long.MAX_VALUE : againAtMs;
    if (diagnoses && !silent && scheduler.hasDemand()) {
      next = Math.min(next, sentencesAtMs);
    }
    return next == Long.MAX_VALUE ? most : Math.max(0, Math.min(most, next - nowMs));
  }

  private void answer(RunningPolicy policy, Question question) throws PolicyFailureException {
    String reply = rounds.ask(policy, question.request);
    if (reply.startsWith(EXPLAINED)) {
      question.answer.complete(reply.substring(EXPLAINED.length(), reply.length() - 1));
      questions.remove(question);
    } else if (!reply.startsWith("[\"explaining\"")) {
      LOG.warn("The policy process cannot explain {}: {}", question.request, reply);
      question.answer.complete(null);
      questions.remove(question);
    }
  }

  private void sentences(String reply) {
    Map<Integer, String> texts = new LinkedHashMap<>();
    try {
      JsonCursor in = new JsonCursor(reply);
      in.open("reply");
      if (!in.string("reply: tag").equals("sentences")) {
        throw new MessageException("expected the tag sentences: " + reply);
      }
      in.open("sentences");
      while (in.element("sentence")) {
        texts.put(in.integer("sentence: application"), in.stringOrNull("sentence: text"));
        in.close("sentence");
      }
      in.close("reply");
      in.end();
    } catch (MessageException e) {
      silent = true; // an older process; it schedules as well
      LOG.warn("The policy process gives no sentences for diagnostics: {}", e.getMessage());
    }
    scheduler.diagnose(texts);
  }
}
