package org.loomcard.yarn.player.tasks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.Resource;
import org.loomcard.yarn.player.context.Asks;
import org.loomcard.yarn.player.context.Planner;
import org.loomcard.yarn.player.context.Scenario;
import org.loomcard.yarn.player.context.Topology;

/**
 * Kinds plain and dag, of an application master that plans itself: what must start now, for the
 * application to end as it would inside its share, it marks DEFAULT, all else ALTRUISTIC.
 *
 * <p>Its share is the headroom. Until it has heard that, nothing must start.
 */
final class AltruisticModel implements WorkloadModel {
  /** Added to the allocation request ids of asks; loomcard.DEFAULT_ASKS and ALTRUISTIC_ASKS. */
  static final long DEFAULT = 1L << 40;
  static final long ALTRUISTIC = 1L << 41;

  private final Scenario.Application application;
  private final TaskTable table;
  private final Asks asks;
  private final Topology topology;
  private final Planner planner;
  /** Of each stage, how many tasks must start now. */
  private final int[] must;
  private final Set<Use> running = new LinkedHashSet<>();
  /** null: not heard yet. */
  private long[] share;
  private boolean answered;
  private boolean changed = true;
  private long nextMs = Planner.NEVER;

  AltruisticModel(Scenario.Application application, TaskTable table, Asks asks, Topology topology,
      Planner planner) {
    this.application = application;
    this.table = table;
    this.asks = asks;
    this.topology = topology;
    this.planner = planner;
    must = new int[application.stages.size()];
    for (Scenario.Stage stage : application.stages) {
      for (long mark : new long[] {DEFAULT, ALTRUISTIC}) {
        asks.addKey(stage.priority, mark + stage.requestId, topology.resource(stage.size));
      }
    }
  }

  @Override
  public int stage(int key) {
    return key / 2;
  }

  @Override
  public void begin() {
    table.open();
    ask();
  }

  @Override
  public Use allocated(int key, String host) {
    int stage = stage(key);
    Task task = table.take(stage, host);
    if (task == null) {
      return null;
    }
    must[stage] = Math.max(0, must[stage] - 1);
    changed = true;
    Use use = new Use(task, false);
    running.add(use);
    ask(stage);
    return use;
  }

  @Override
  public void started(Use use) {
    // Its containers end by themselves.
  }

  @Override
  public void ended(Use use, End end) {
    running.remove(use);
    table.ended(use.task, end);
    changed = true;
    begin();
  }

  /** The answer to the first marks was made before the scheduler knew them: it holds no share. */
  @Override
  public void heard(Resource headroom, boolean withVcores) {
    if (!answered) {
      answered = true;
      return;
    }
    long[] now = topology.amounts(headroom);
    changed |= !Arrays.equals(now, share);
    share = now;
    long nowMs = System.currentTimeMillis();
    if (table.isOver() || !changed && nowMs < nextMs) {
      return;
    }
    Planner.Decision decision = planner.decide(question(nowMs));
    System.arraycopy(decision.must, 0, must, 0, must.length);
    nextMs = decision.nextMs == null ? Planner.NEVER : decision.nextMs;
    changed = false;
    ask();
  }

  private Planner.Question question(long nowMs) {
    Planner.Question question = new Planner.Question();
    question.application = application.id;
    question.nowMs = nowMs;
    question.share = share;
    question.waiting = new int[must.length];
    for (int stage = 0; stage < must.length; stage++) {
      question.waiting[stage] = table.left(stage);
    }
    for (Use use : running) {
      question.waiting[use.task.stage]--;
      long began = use.launchedMs == Use.NOT_YET ? nowMs : use.launchedMs;
      question.running.add(new long[] {use.task.stage, began});
    }
    return question;
  }

  private void ask() {
    for (int stage = 0; stage < must.length; stage++) {
      ask(stage);
    }
  }

  /** Its waiting tasks, the first of them DEFAULT as far as they must start. */
  private void ask(int stage) {
    List<List<String>> wishes = new ArrayList<>();
    for (int task : table.waiting(stage)) {
      wishes.add(application.stages.get(stage).wishes(task));
    }
    int first = Math.min(must[stage], wishes.size());
    asks.rows(2 * stage).want(wishes.subList(0, first));
    asks.rows(2 * stage + 1).want(wishes.subList(first, wishes.size()));
  }

  @Override
  public TaskTable table() {
    return table;
  }
}
