package org.loomcard.yarn.web.tables;

import static org.junit.Assert.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.Test;
import org.loomcard.yarn.wire.Golden;

/**
 * The limits of queues, and how they stand on labelled nodes, as rows: the same as those of {@code
 * loomcard status}, whose tests read the same file.
 */
public final class LimitTableTest {
  private static JsonNode golden() throws Exception {
    return new ObjectMapper().readTree(new File(Golden.repository(), "tests/golden/limits.json"));
  }

  private static void assertRows(JsonNode wanted, List<String[]> found) {
    List<String> wantedRows = new ArrayList<>();
    for (JsonNode row : wanted) {
      List<String> cells = new ArrayList<>();
      row.forEach(cell -> cells.add(cell.asText()));
      wantedRows.add(cells.toString());
    }
    List<String> foundRows = new ArrayList<>();
    found.forEach(row -> foundRows.add(Arrays.asList(row).toString()));
    assertEquals(String.join("\n", wantedRows), String.join("\n", foundRows));
  }

  /** Each limit with its use. */
  @Test
  public void eachStatedLimitIsARow() throws Exception {
    assertRows(golden().path("rows"), LimitTable.rows(golden().path("queues")));
  }

  /** By label: the guarantee as amounts beside its part, the use, and what of it is lent. */
  @Test
  public void eachLabelOfAQueueIsARow() throws Exception {
    assertRows(golden().path("label_rows"), LabelTable.rows(golden().path("queues")));
  }
}
