package org.loomcard.yarn.rounds;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.Collections;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.Test;
import org.loomcard.yarn.wire.BatchWriter;
import org.loomcard.yarn.wire.EngineClock;

/** What policies reported stays until they report it again. */
public class ReportsTest {

  /** A plan that reports one queue keeps the reports of the other queues. */
  @Test
  public void reportsOfOtherQueuesStay() {
    Reports reports = new Reports(new EngineClock(0), false);
    reports.update(Collections.singletonMap("root.a", "{\"x\":1}"));
    Map<String, String> before = reports.read();
    reports.update(Collections.singletonMap("root.b", "{\"x\":2}"));
    reports.update(Collections.emptyMap());
    assertEquals("{root.a={\"x\":1}, root.b={\"x\":2}}", reports.read().toString());
    reports.update(Collections.singletonMap("root.a", "{\"x\":3}"));
    assertEquals("{\"x\":3}", reports.read().get("root.a"));
    assertEquals("who looks at it sees one moment", "{root.a={\"x\":1}}", before.toString());
    reports.clear();
    assertEquals(Collections.emptyMap(), reports.read());
  }

  /**
   * The policy process is told when somebody begins to read, and when nobody has read for two
   * minutes; a new process, which gets a snapshot, is told again.
   */
  @Test
  public void tellsWhetherSomebodyReads() {
    AtomicLong nanos = new AtomicLong();
    Reports reports = new Reports(new EngineClock(System.currentTimeMillis(), nanos::get), false);
    assertEquals("[\"reports_read\",7,false]", told(reports, true));
    assertEquals("", told(reports, false));
    assertFalse(reports.isReaderNew());
    reports.read();
    assertTrue("a round is due: whoever reads again finds the newest", reports.isReaderNew());
    assertEquals("[\"reports_read\",7,true]", told(reports, false));
    assertFalse(reports.isReaderNew());
    assertEquals("somebody reads after a snapshot, unless it is said", "", told(reports, true));
    nanos.addAndGet(TimeUnit.SECONDS.toNanos(119));
    assertEquals("", told(reports, false));
    nanos.addAndGet(TimeUnit.SECONDS.toNanos(2));
    assertEquals("[\"reports_read\",7,false]", told(reports, false));
    assertFalse(reports.isReaderNew());
  }

  /** What a journal keeps is read later. */
  @Test
  public void aJournalReads() {
    Reports reports = new Reports(new EngineClock(0), true);
    assertEquals("", told(reports, true));
    assertFalse(reports.isReaderNew());
  }

  private static String told(Reports reports, boolean snapshot) {
    BatchWriter batch = new BatchWriter(1, 1, 7);
    reports.write(batch, snapshot);
    String text = batch.finish();
    return text.substring(text.indexOf(",[", text.indexOf("]")) + 2, text.length() - 2);
  }
}
