package org.loomcard.yarn.queues;

import static org.junit.Assert.assertArrayEquals;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import org.apache.hadoop.yarn.api.records.Resource;
import org.junit.Test;
import org.loomcard.yarn.hadoop.HadoopCompat;

/** The free amounts of all nodes. */
public class FreeCapacityTest {
  private static HadoopCompat.Node node(int memory, int vcores) {
    HadoopCompat.Node node = mock(HadoopCompat.Node.class);
    when(node.getUnallocatedResource()).thenReturn(Resource.newInstance(memory, vcores));
    return node;
  }

  /** A batch is written after the lock was released, so a sum that it has read must not change. */
  @Test
  public void aSumThatWasReadStaysWhatItWas() {
    FreeCapacity<HadoopCompat.Node> free = new FreeCapacity<>();
    HadoopCompat.Node full = node(0, 13);
    free.changed(full);
    free.changed(node(1024, 2));
    long[] read = free.total(node -> true);
    free.removed(full);
    assertArrayEquals(new long[] {1024, 15}, read);
    assertArrayEquals(new long[] {1024, 2}, free.total(node -> true));
  }
}
