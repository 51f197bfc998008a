package org.loomcard.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.loomcard.yarn.policyconfig.PolicyConfig;
import org.loomcard.yarn.rounds.CommitReport;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.PlanMessage;

/**
 * In place of the bridge: the test itself closes batches, reads them and commits plans, on its own
 * thread. No policy process takes part, so that a test says exactly which decision it wants carried
 * out.
 */
public final class ScriptedRounds implements Rounds {
  private static final ObjectMapper JSON = new ObjectMapper();
  private final SchedulerState books;
  private final EngineClock clock;
  private final String setup;
  private final AtomicInteger signals = new AtomicInteger();
  private long round;
  private long nextSequence = 1;
  private int version = 1;

  ScriptedRounds(SchedulerState books, EngineClock clock, String setup) {
    this.books = books;
    this.clock = clock;
    this.setup = setup;
  }

  @Override
  public void load() throws IOException {
    apply(setup);
  }

  public void apply(String json) throws IOException {
    try {
      books.apply(PolicyConfig.read(json), version++);
    } catch (Exception e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  /** What is applied from now on is only tried. */
  public void beginTrial() {
    books.beginTrial();
  }

  public void endTrial() {
    books.endTrial();
  }

  /** Whether a configuration would be taken; changes nothing. */
  void check(String json) throws IOException {
    try {
      books.check(PolicyConfig.read(json));
    } catch (Exception e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  @Override
  public void start() {
  }

  @Override
  public void signal() {
    signals.incrementAndGet();
  }

  int signals() {
    return signals.get();
  }

  @Override
  public void refresh() {
  }

  @Override
  public void awaitQuiet(long ms) {
  }

  @Override
  public void stop() {
  }

  boolean hasNews() {
    return books.hasNews();
  }

  int fallbackRound() {
    return books.fallbackRound();
  }

  /** What happened since the last batch. */
  Batch batch() {
    return close(false);
  }

  /** Everything there is. */
  Batch snapshot() {
    return close(true);
  }

  private Batch close(boolean snapshot) {
    BatchWriter out = new BatchWriter(++round, nextSequence, clock.nowMs());
    books.close(out, snapshot);
    nextSequence += out.count();
    try {
      return new Batch(JSON.readTree(out.finish()));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  CommitReport commit(PlanMessage.Decision... decisions) {
    return books.commit(plan(decisions), false);
  }

  CommitReport commitLate(PlanMessage.Decision... decisions) {
    return books.commit(plan(decisions), true);
  }

  private PlanMessage plan(PlanMessage.Decision... decisions) {
    return new PlanMessage(round, Arrays.asList(decisions), Collections.emptyList(),
        Collections.emptyList(),
        Collections.emptyMap(), Collections.emptyMap(), Collections.emptyList(),
        Collections.emptyList(), null);
  }

  static PlanMessage.Allocate allocate(JsonNode ask, JsonNode node, int count) {
    return new PlanMessage.Allocate(ask.get(2).asInt(), ask.get(3).asInt(), ask.get(4).asLong(),
        node.get(2).asInt(), count, 0);
  }

  /** The records of one batch, each a JSON array whose first element is its tag. */
  static final class Batch {
    final JsonNode check;
    private final List<JsonNode> records = new ArrayList<>();

    private Batch(JsonNode message) {
      check = message.get(4);
      message.get(5).forEach(records::add);
    }

    List<JsonNode> all(String tag) {
      List<JsonNode> found = new ArrayList<>();
      for (JsonNode record : records) {
        if (record.get(0).asText().equals(tag)) {
          found.add(record);
        }
      }
      return found;
    }

    /** The only record of that tag. */
    JsonNode one(String tag) {
      List<JsonNode> found = all(tag);
      if (found.size() != 1) {
        throw new AssertionError("expected one " + tag + ", found " + found + " among " + records);
      }
      return found.get(0);
    }

    List<String> tags() {
      List<String> tags = new ArrayList<>();
      records.forEach(record -> tags.add(record.get(0).asText()));
      return tags;
    }

    @Override
    public String toString() {
      return records + " check " + check;
    }
  }
}
