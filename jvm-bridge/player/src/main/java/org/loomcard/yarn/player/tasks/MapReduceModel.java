package org.loomcard.yarn.player.tasks;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.Resource;
import org.loomcard.yarn.player.context.Asks;
import org.loomcard.yarn.player.context.Scenario;

/**
 * Kind mapreduce: all maps at once, reduces by MapReduce's own rule. A reduce that begins while
 * maps run is held: it copies their outputs as they finish, and only then is its end known.
 */
final class MapReduceModel implements WorkloadModel {
  private static final int MAP = 0;
  private static final int REDUCE = 1;
  /** mapreduce.job.reducer.unconditional-preempt.delay.sec */
  private static final long UNCONDITIONAL_MS = 300_000;

  private final Scenario.Application application;
  private final TaskTable table;
  private final Asks asks;
  private final Master master;
  private final ReduceRamp ramp;
  private final Shuffle shuffle;
  /** When each held reduce began to run is its use's launch; those whose end is not known yet. */
  private final Set<Use> copying = new HashSet<>();
  private final int[] assigned = new int[2];
  /** Until then maps did not starve. */
  private long starvedMs = System.currentTimeMillis();
  /** Reduces that have a container, in the order in which they got it. */
  private final List<Use> reduces = new ArrayList<>();

  MapReduceModel(Scenario.Application application, TaskTable table, Asks asks, Master master) {
    this.application = application;
    this.table = table;
    this.asks = asks;
    this.master = master;
    ramp = new ReduceRamp(application.slowstart, asks.size(MAP), asks.size(REDUCE));
    shuffle = new Shuffle(application.msPerMap, application.stages.get(MAP).tasks());
  }

  @Override
  public void begin() {
    table.openAll();
    for (int task : table.waiting(MAP)) {
      asks.rows(MAP).add(application.stages.get(MAP).wishes(task));
    }
  }

  @Override
  public Use allocated(int key, String host) {
    // A reduce's ask may have been taken back while its container was on the way.
    Task task = asks.rows(key).count() > 0 ? table.take(key, host) : null;
    if (task == null) {
      return null;
    }
    asks.rows(key).remove(application.stages.get(key).wishes(task.index));
    assigned[key]++;
    Use use = new Use(task, key == REDUCE && !task.fails);
    if (key == REDUCE) {
      reduces.add(use);
    }
    return use;
  }

  @Override
  public void started(Use use) {
    use.launchedMs = System.currentTimeMillis();
    if (reduces.contains(use)) {
      copying.add(use);
      endCopies();
    }
  }

  /** Once every map is done, it is known when each reduce ends. */
  private void endCopies() {
    if (!shuffle.isComplete()) {
      return;
    }
    for (Iterator<Use> each = copying.iterator(); each.hasNext();) {
      Use use = each.next();
      each.remove();
      long now = System.currentTimeMillis();
      long copied = Math.max(now, shuffle.copiedMs(use.launchedMs));
      master.later(copied + use.task.runMs - now, () -> master.end(use));
    }
  }

  @Override
  public void ended(Use use, End end) {
    Task task = use.task;
    if (task.stage == REDUCE && !reduces.remove(use)) {
      return;  // it was given up, and its task waits since then
    }
    assigned[task.stage]--;
    copying.remove(use);
    table.ended(task, end);
    if (task.stage == MAP && end == End.COMPLETED) {
      // Its end is heard of a heartbeat late; a real reduce hears of it from the map itself.
      shuffle.mapFinished(Math.min(System.currentTimeMillis(), use.launchedMs + task.runMs));
      endCopies();
    } else if (task.stage == MAP && !table.hasFailed()) {
      asks.rows(MAP).add(application.stages.get(MAP).wishes(task.index));
    }
  }

  @Override
  public void heard(Resource headroom, boolean withVcores) {
    // Maps that have starved for long count for more than what the headroom promises.
    ReduceRamp.Counts now = counts();
    long nowMs = System.currentTimeMillis();
    if (now.scheduledMaps == 0 || now.assignedMaps > 0 || now.assignedReduces == 0) {
      starvedMs = nowMs;
    }
    boolean patient = nowMs - starvedMs < UNCONDITIONAL_MS;
    Resource promised = patient ? headroom : Resource.newInstance(0, 0);
    int tooMany = ramp.giveUp(now, promised, withVcores);
    giveUp(tooMany);
    // What was given up is for maps: as in Hadoop, reduces are asked for at the next heartbeat.
    if (tooMany == 0) {
      ask(ramp.change(counts(), headroom, withVcores));
    }
  }

  private ReduceRamp.Counts counts() {
    ReduceRamp.Counts now = new ReduceRamp.Counts();
    now.totalMaps = application.stages.get(MAP).tasks();
    now.completedMaps = now.totalMaps - table.left(MAP);
    now.scheduledMaps = asks.rows(MAP).count();
    now.assignedMaps = assigned[MAP];
    now.scheduledReduces = asks.rows(REDUCE).count();
    now.pendingReduces = table.waiting(REDUCE).size() - now.scheduledReduces;
    now.assignedReduces = assigned[REDUCE];
    return now;
  }

  /** Asks for so many reduces more; below 0: takes so many asks back. */
  private void ask(int change) {
    for (int i = 0; i < change; i++) {
      asks.rows(REDUCE).add(Collections.emptyList());
    }
    for (int i = 0; i > change; i--) {
      asks.rows(REDUCE).remove(Collections.emptyList());
    }
  }

  /** Gives back the reduces that began last, and asks for none meanwhile. */
  private void giveUp(int count) {
    if (count == 0) {
      return;
    }
    ask(-asks.rows(REDUCE).count());
    List<Use> last = new ArrayList<>(reduces.subList(reduces.size() - count, reduces.size()));
    for (Use use : last) {
      reduces.remove(use);
      copying.remove(use);
      assigned[REDUCE]--;
      table.lost(use.task);
      master.release(use);
    }
  }

  @Override
  public TaskTable table() {
    return table;
  }
}
