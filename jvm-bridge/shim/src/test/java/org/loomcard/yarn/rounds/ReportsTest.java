package org.loomcard.yarn.rounds;

import static org.junit.Assert.assertEquals;

import java.util.Collections;
import java.util.Map;
import org.junit.Test;

/** What policies reported stays until they report it again. */
public class ReportsTest {

  /** A plan that reports one queue keeps the reports of the other queues. */
  @Test
  public void reportsOfOtherQueuesStay() {
    Reports reports = new Reports();
    reports.update(Collections.singletonMap("root.a", "{\"x\":1}"));
    Map<String, String> before = reports.all();
    reports.update(Collections.singletonMap("root.b", "{\"x\":2}"));
    reports.update(Collections.emptyMap());
    assertEquals("{root.a={\"x\":1}, root.b={\"x\":2}}", reports.all().toString());
    reports.update(Collections.singletonMap("root.a", "{\"x\":3}"));
    assertEquals("{\"x\":3}", reports.all().get("root.a"));
    assertEquals("who looks at it sees one moment", "{root.a={\"x\":1}}", before.toString());
    reports.clear();
    assertEquals(Collections.emptyMap(), reports.all());
  }
}
