package org.loomcard.yarn.queues;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import org.junit.Test;
import org.loomcard.yarn.wire.Golden;

/** The shown entitlement of a queue is what the policy process gives it. */
public class EntitlementsTest {

  /** The test of api/entitlement.py reads the same file. */
  @Test
  public void theRuleIsThePolicyProcesss() throws IOException {
    JsonNode cases = new ObjectMapper()
        .readTree(new File(Golden.repository(), "tests/golden/entitlements.json"));
    assertTrue(cases.size() > 0);
    for (JsonNode each : cases) {
      JsonNode queues = each.path("queues");
      int count = queues.size();
      int[] parents = new int[count];
      double[] weights = new double[count];
      for (int i = 0; i < count; i++) {
        parents[i] = queues.path(i).path("parent").asInt();
        weights[i] = queues.path(i).path("weight").asDouble();
      }
      long[][] wanted = column(queues, "used");
      long[][] pending = column(queues, "pending");
      for (int i = 0; i < count; i++) {
        Amounts.add(wanted[i], pending[i]);
      }
      long[][] found = new Entitlements(parents, weights, column(queues, "guaranteed"),
          column(queues, "maximum"), wanted).of(amounts(each.path("capacity")));
      assertEquals(each.path("what").asText(), Arrays.deepToString(column(queues, "entitled")),
          Arrays.deepToString(found));
    }
  }

  private static long[][] column(JsonNode queues, String key) {
    long[][] column = new long[queues.size()][];
    for (int i = 0; i < column.length; i++) {
      column[i] = amounts(queues.path(i).path(key));
    }
    return column;
  }

  private static long[] amounts(JsonNode values) {
    long[] amounts = new long[values.size()];
    for (int i = 0; i < amounts.length; i++) {
      amounts[i] = values.path(i).asLong();
    }
    return amounts;
  }
}
