package org.loomcard.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.loomcard.yarn.bridge.ConfigSwapResult;
import org.loomcard.yarn.bridge.RoundDriver;
import org.loomcard.yarn.config.ConfigRefusedException;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.rounds.CommitReport;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.EngineClock;
import org.loomcard.yarn.wire.PlanMessage;

/**
 * Replaces the bridge: the test itself closes batches, reads them and commits plans, on its own
 * thread. No policy process takes part, so that a test says exactly which decision is carried out.
 */
public final class ScriptedRounds implements RoundDriver {
  private static final ObjectMapper JSON = new ObjectMapper();
  private final SchedulerState scheduler;
  private final EngineClock clock;
  private final String policyConfig;
  private final AtomicInteger signals = new AtomicInteger();
  private long round;
  private long nextSequence = 1;
  private int version = 1;
  private PolicyConfig applied;

  public ScriptedRounds(SchedulerState scheduler, EngineClock clock, String policyConfig) {
    this.scheduler = scheduler;
    this.clock = clock;
    this.policyConfig = policyConfig;
  }

  @Override
  public void load() throws IOException {
    apply(policyConfig);
  }

  public void apply(String json) throws IOException {
    try {
      PolicyConfig next = PolicyConfig.read(json);
      next = applied == null ? next : next.withCreatedOf(applied);
      scheduler.apply(next, version++);
      applied = next;
    } catch (Exception e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  /** From now on a configuration that is applied is only tried. */
  public void beginTrial() {
    scheduler.beginTrial();
  }

  public void endTrial() {
    scheduler.endTrial();
  }

  /** Returns whether a configuration would be accepted; changes nothing. */
  public void check(String json) throws IOException {
    try {
      scheduler.check(PolicyConfig.read(json));
    } catch (Exception e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  @Override
  public void start() {
    applied = scheduler.begin();
  }

  /** Creates and removes queues, as between two rounds. */
  public void changeQueues(long nowMs) throws ConfigRefusedException {
    PolicyConfig next = scheduler.changedQueues(nowMs);
    if (next == null) {
      return;
    }
    if (next != applied) {
      scheduler.apply(next, version);
      applied = next;
    }
    scheduler.endTrial();
  }

  /** The configuration in force. */
  public PolicyConfig applied() {
    return applied;
  }

  @Override
  public void signal() {
    signals.incrementAndGet();
  }

  public int signals() {
    return signals.get();
  }

  @Override
  public ConfigSwapResult refresh(String user) {
    return ConfigSwapResult.plain(ConfigSwapResult.Outcome.APPLIED, "applied", null);
  }

  @Override
  public void stop() {
  }

  public boolean hasPendingEvents() {
    return scheduler.hasPendingEvents();
  }

  public boolean isUrgent() {
    return scheduler.isUrgent();
  }

  public int fallbackRound() {
    return scheduler.fallbackRound();
  }

  /** Returns what happened since the last batch. */
  public Batch batch() {
    return close(false);
  }

  /** Returns the whole state. */
  public Batch snapshot() {
    return close(true);
  }

  private Batch close(boolean snapshot) {
    BatchWriter out = new BatchWriter(++round, nextSequence, clock.nowMs());
    scheduler.close(out, snapshot);
    nextSequence += out.count();
    try {
      return new Batch(JSON.readTree(out.finish()));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  public CommitReport commit(PlanMessage.Decision... decisions) {
    return scheduler.commit(plan(decisions), false);
  }

  public CommitReport commitLate(PlanMessage.Decision... decisions) {
    return scheduler.commit(plan(decisions), true);
  }

  private PlanMessage plan(PlanMessage.Decision... decisions) {
    return new PlanMessage(round, Arrays.asList(decisions), Collections.emptyList(),
        Collections.emptyList(),
        Collections.emptyMap(), Collections.emptyMap(), Collections.emptyList(),
        Collections.emptyList(), Collections.emptyList(), null, new long[0]);
  }

  public static PlanMessage.Allocate allocate(JsonNode ask, JsonNode node, int count) {
    return new PlanMessage.Allocate(ask.get(2).asInt(), ask.get(3).asInt(), ask.get(4).asLong(),
        node.get(2).asInt(), count, 0);
  }

  /** Returns the records of one batch, each a JSON array whose first element is its tag. */
  public static final class Batch {
    public final JsonNode check;
    private final List<JsonNode> records = new ArrayList<>();

    private Batch(JsonNode message) {
      check = message.get(4);
      message.get(5).forEach(records::add);
    }

    public List<JsonNode> all(String tag) {
      List<JsonNode> found = new ArrayList<>();
      for (JsonNode record : records) {
        if (record.get(0).asText().equals(tag)) {
          found.add(record);
        }
      }
      return found;
    }

    /** Returns the only record with that tag. */
    public JsonNode one(String tag) {
      List<JsonNode> found = all(tag);
      if (found.size() != 1) {
        throw new AssertionError("expected one " + tag + ", found " + found + " among " + records);
      }
      return found.get(0);
    }

    public List<String> tags() {
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
