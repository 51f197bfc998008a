package org.loomcard.yarn.player;

import static org.junit.Assert.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyFloat;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.doCallRealMethod;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.util.EnumSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.mapreduce.v2.app.rm.RMContainerAllocator;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.proto.YarnServiceProtos.SchedulerResourceTypes;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.junit.Test;
import org.loomcard.yarn.player.context.Scenario;

/** When reduces are requested: the cases that the tests of the Python models read. */
public final class HadoopReducesTest {
  private static final File CASES = new File("../../tests/golden/player/reduces.json");
  private static final float RAMP_UP_LIMIT = 0.5f;

  /** How many maps and reduces are in which state; scheduled: requested, assigned: allocated. */
  static final class Counts {
    public int totalMaps;
    public int completedMaps;
    public int scheduledMaps;
    public int assignedMaps;
    public int pendingReduces;
    public int scheduledReduces;
    public int assignedReduces;
  }

  /** The cases show what Hadoop's own class does, not what we believe it does. */
  @Test
  public void hadoopDoesTheSame() throws Exception {
    for (JsonNode one : Scenario.json().readTree(CASES)) {
      assertEquals(one.get("name").asText(), one.get("change").asInt(), hadoop(one));
    }
  }

  private static int hadoop(JsonNode one) throws Exception {
    Counts now = Scenario.json().treeToValue(one.get("counts"), Counts.class);
    Resource map = size(one, "map");
    Resource reduce = size(one, "reduce");
    RMContainerAllocator allocator = mock(RMContainerAllocator.class);
    when(allocator.getSchedulerResourceTypes()).thenReturn(one.get("with_vcores").asBoolean()
        ? EnumSet.allOf(SchedulerResourceTypes.class) : EnumSet.of(SchedulerResourceTypes.MEMORY));
    when(allocator.getResourceLimit()).thenReturn(Resources.add(size(one, "headroom"),
        Resources.add(Resources.multiply(map, now.assignedMaps),
            Resources.multiply(reduce, now.assignedReduces))));
    AtomicInteger change = new AtomicInteger();
    doAnswer(call -> change.addAndGet(call.getArgument(0))).when(allocator)
        .rampUpReduces(anyInt());
    doAnswer(call -> change.addAndGet(-call.<Integer>getArgument(0))).when(allocator)
        .rampDownReduces(anyInt());
    doAnswer(call -> change.addAndGet(now.pendingReduces)).when(allocator).scheduleAllReduces();
    doCallRealMethod().when(allocator).scheduleReduces(anyInt(), anyInt(), anyInt(), anyInt(),
        anyInt(), anyInt(), any(), any(), anyInt(), anyFloat(), anyFloat());
    allocator.scheduleReduces(now.totalMaps, now.completedMaps, now.scheduledMaps,
        now.scheduledReduces, now.assignedMaps, now.assignedReduces, map, reduce,
        now.pendingReduces, RAMP_UP_LIMIT, (float) one.get("slowstart").asDouble());
    return change.get();
  }

  private static Resource size(JsonNode one, String key) {
    return Resource.newInstance(one.get(key).get(0).asLong(), one.get(key).get(1).asInt());
  }
}
