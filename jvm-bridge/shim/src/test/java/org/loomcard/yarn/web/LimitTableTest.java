package org.loomcard.yarn.web;

import static org.junit.Assert.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.junit.Test;
import org.loomcard.yarn.bridge.Golden;

/** The limits of queues as rows, the same as those of {@code loomcard status}. */
public final class LimitTableTest {

  /** The file is read by the tests of the command, too. */
  @Test
  public void eachStatedLimitIsARowWithItsUse() throws Exception {
    JsonNode golden = new ObjectMapper()
        .readTree(new File(Golden.repository(), "tests/golden/limits.json"));
    List<String> wanted = new ArrayList<>();
    for (JsonNode row : golden.path("rows")) {
      List<String> cells = new ArrayList<>();
      row.forEach(cell -> cells.add(cell.asText()));
      wanted.add(cells.toString());
    }
    List<String> found = new ArrayList<>();
    for (String[] row : LimitTable.rows(golden.path("queues"))) {
      found.add(Arrays.asList(row).toString());
    }
    assertEquals(String.join("\n", wanted), String.join("\n", found));
  }
}
