package org.loomcard.yarn.player.tasks;

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

/** When reduces are asked for: cases that the simulator's tests read too. */
public final class ReduceRampTest {
  private static final File GOLDEN = new File("../../tests/golden/player");
  private static final File CASES = new File(GOLDEN, "reduces.json");
  private static final File GIVEN_UP = new File(GOLDEN, "gives_up.json");

  @Test
  public void asksAsTheCasesSay() throws Exception {
    for (JsonNode one : Scenario.json().readTree(CASES)) {
      ReduceRamp ramp = new ReduceRamp(
          one.get("slowstart").asDouble(), size(one, "map"), size(one, "reduce"));
      assertEquals(one.get("name").asText(), one.get("change").asInt(),
          ramp.change(counts(one), size(one, "headroom"), one.get("with_vcores").asBoolean()));
    }
  }

  /** The cases are what Hadoop's own class does, not what we believe it does. */
  @Test
  public void hadoopDoesTheSame() throws Exception {
    for (JsonNode one : Scenario.json().readTree(CASES)) {
      assertEquals(one.get("name").asText(), one.get("change").asInt(), hadoop(one));
    }
  }

  /** Maps that could not run otherwise get the room of reduces. */
  @Test
  public void givesUpAsTheSimulatorDoes() throws Exception {
    for (JsonNode one : Scenario.json().readTree(GIVEN_UP)) {
      ReduceRamp ramp = new ReduceRamp(0, size(one, "map"), size(one, "reduce"));
      assertEquals(one.get("name").asText(), one.get("gives_up").asInt(),
          ramp.giveUp(counts(one), size(one, "headroom"), one.get("with_vcores").asBoolean()));
    }
  }

  /** Slow start is over once and for all: a map that runs again does not bring it back. */
  @Test
  public void slowStartDoesNotComeBack() {
    Resource one = Resource.newInstance(1024, 1);
    ReduceRamp ramp = new ReduceRamp(0.5, one, one);
    ReduceRamp.Counts now = new ReduceRamp.Counts();
    now.totalMaps = 2;
    now.pendingReduces = 3;
    now.completedMaps = 1;
    assertEquals(3, ramp.change(now, one, true));
    now.completedMaps = 0;
    assertEquals(3, ramp.change(now, one, true));
  }

  private static int hadoop(JsonNode one) throws Exception {
    ReduceRamp.Counts now = counts(one);
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
        now.pendingReduces, ReduceRamp.RAMP_UP_LIMIT, (float) one.get("slowstart").asDouble());
    return change.get();
  }

  private static ReduceRamp.Counts counts(JsonNode one) throws Exception {
    return Scenario.json().treeToValue(one.get("counts"), ReduceRamp.Counts.class);
  }

  private static Resource size(JsonNode one, String key) {
    return Resource.newInstance(one.get(key).get(0).asLong(), one.get(key).get(1).asInt());
  }
}
