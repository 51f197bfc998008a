package org.loomcard.yarn.player.context;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import org.junit.Test;

/** What the ResourceManager is sent of an ask, and what it knows by itself. */
public final class AskRowsTest {
  private final AskRows rows = new AskRows(node -> "/r" + node.charAt(1));

  @Test
  public void eachTaskCountsOnceInEachRow() {
    rows.add(Arrays.asList("n1", "n2"));
    rows.add(Collections.singletonList("n1"));
    assertEquals(map("*", 2, "/r1", 2, "/r2", 1, "n1", 2, "n2", 1), rows.changes());
    assertTrue(rows.changes().isEmpty());
  }

  /** An allocation that the ResourceManager has counted already is not sent again. */
  @Test
  public void anAllocationWithoutWishesTellsNothing() {
    rows.add(Collections.emptyList());
    rows.add(Collections.emptyList());
    rows.changes();
    rows.allocated("n1");
    rows.remove(Collections.emptyList());
    assertTrue(rows.changes().isEmpty());
    assertEquals(1, rows.count());
  }

  /** Where a container went elsewhere than its task wished, the wish's rows are put right. */
  @Test
  public void rowsOfAWishAreTakenBack() {
    rows.add(Collections.singletonList("n1"));
    rows.add(Collections.singletonList("n2"));
    rows.changes();
    rows.allocated("n3");
    rows.remove(Collections.singletonList("n1"));
    assertEquals(map("/r1", 0, "n1", 0), rows.changes());
  }

  /** A task that moves from one ask to another is one less here, and nothing is sent twice. */
  @Test
  public void whatIsWantedIsSentAgain() {
    rows.want(Arrays.asList(Collections.singletonList("n1"), Collections.emptyList()));
    assertEquals(map("*", 2, "/r1", 1, "n1", 1), rows.changes());
    rows.allocated("n2");
    rows.want(Collections.singletonList(Collections.singletonList("n1")));
    assertTrue(rows.changes().isEmpty());
    rows.want(Collections.emptyList());
    assertEquals(map("*", 0, "/r1", 0, "n1", 0), rows.changes());
    assertEquals(0, rows.count());
  }

  private static Map<String, Integer> map(Object... pairs) {
    Map<String, Integer> map = new TreeMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      map.put((String) pairs[i], (Integer) pairs[i + 1]);
    }
    return map;
  }
}
