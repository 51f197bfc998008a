package org.loomcard.yarn.player.tasks;

import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * When MapReduce's application master asks for reduces: RMContainerAllocator.scheduleReduces of
 * Hadoop 3.4 with its default limit of the ramp-up.
 *
 * <p>No reduce before ceil(slowstart * maps) maps are done. When all maps have their containers,
 * all reduces are asked for. In between, reduces may take the share of what the application can
 * have that min(maps done / maps, {@value #RAMP_UP_LIMIT}) is, and what the maps leave of theirs.
 */
final class ReduceRamp {
  static final float RAMP_UP_LIMIT = 0.5f;
  private static final float PREEMPTION_LIMIT = 0.5f;

  private final float slowstart;
  private final Resource map;
  private final Resource reduce;
  private boolean begun;

  /** How many maps and reduces are in which state; scheduled: asked for, assigned: allocated. */
  static final class Counts {
    public int totalMaps;
    public int completedMaps;
    public int scheduledMaps;
    public int assignedMaps;
    public int pendingReduces;
    public int scheduledReduces;
    public int assignedReduces;
  }

  ReduceRamp(double slowstart, Resource map, Resource reduce) {
    this.slowstart = (float) slowstart;
    this.map = map;
    this.reduce = reduce;
  }

  /** How many more reduces to ask for; below 0: how many asks to take back. */
  int change(Counts now, Resource headroom, boolean withVcores) {
    if (now.pendingReduces == 0) {
      return 0;
    }
    if (!begun) {
      if (now.completedMaps < (int) Math.ceil(slowstart * now.totalMaps)) {
        return 0;
      }
      begun = true;
    }
    if (now.scheduledMaps == 0) {
      return now.pendingReduces;
    }
    int change = containers(Resources.subtract(limit(now, headroom, withVcores),
        Resources.multiply(reduce, now.scheduledReduces + now.assignedReduces)), reduce,
        withVcores);
    return change > 0
        ? Math.min(change, now.pendingReduces) : -Math.min(-change, now.scheduledReduces);
  }

  /**
   * How many running reduces to give up for maps that could not run otherwise, as
   * RMContainerAllocator.preemptReducesIfNeeded: none while a map has a container or fits into the
   * headroom; else as many as all waiting maps need, but no more than hold half of what the
   * application has, or one map.
   */
  int giveUp(Counts now, Resource headroom, boolean withVcores) {
    if (now.scheduledMaps == 0 || now.assignedMaps > 0 || now.assignedReduces == 0
        || containers(headroom, map, withVcores) > 0) {
      return 0;
    }
    Resource half = Resources.multiply(
        Resources.add(headroom, Resources.multiply(reduce, now.assignedReduces)), PREEMPTION_LIMIT);
    int least = Math.max(covering(map, withVcores), covering(half, withVcores));
    int most = covering(Resources.multiply(map, now.scheduledMaps), withVcores);
    return Math.min(Math.min(least, most), now.assignedReduces);
  }

  /** How many reduces hold so much. */
  private int covering(Resource need, boolean withVcores) {
    int byMemory = ceiled(need.getMemorySize(), reduce.getMemorySize());
    return withVcores
        ? Math.max(byMemory, ceiled(need.getVirtualCores(), reduce.getVirtualCores())) : byMemory;
  }

  private static int ceiled(long need, long size) {
    return size == 0 ? 0 : (int) ((need + size - 1) / size);
  }

  /** What reduces may have in all. */
  private Resource limit(Counts now, Resource headroom, boolean withVcores) {
    float done = now.totalMaps == 0 ? 1 : (float) now.completedMaps / now.totalMaps;
    Resource total = Resources.add(headroom, Resources.add(
        Resources.multiply(map, now.assignedMaps), Resources.multiply(reduce,
            now.assignedReduces)));
    Resource forReduces = Resources.multiply(total, Math.min(done, RAMP_UP_LIMIT));
    Resource forMaps = Resources.subtract(total, forReduces);
    int maps = now.scheduledMaps + now.assignedMaps;
    if (containers(forMaps, map, withVcores) < maps) {
      return forReduces;
    }
    return Resources.add(forReduces, Resources.subtract(forMaps, Resources.multiply(map, maps)));
  }

  private static int containers(Resource room, Resource size, boolean withVcores) {
    int byMemory = ratio(room.getMemorySize(), size.getMemorySize());
    return withVcores
        ? Math.min(byMemory, ratio(room.getVirtualCores(), size.getVirtualCores())) : byMemory;
  }

  private static int ratio(long room, long size) {
    return size == 0 ? Integer.MAX_VALUE : (int) (room / size);
  }
}
