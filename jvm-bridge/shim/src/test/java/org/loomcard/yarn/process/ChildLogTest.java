package org.loomcard.yarn.process;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.Test;

/** What a policy process prints is kept and copied only up to a bound. */
public class ChildLogTest {
  private final List<String> info = new ArrayList<>();
  private final List<String> warnings = new ArrayList<>();
  private int ends;

  private void copy(InputStream in) {
    new ChildLog(in, () -> ends++, (warning, text) -> (warning ? warnings : info).add(text),
        () -> 0).run();
    assertEquals("the end is reported once", 1, ends);
  }

  private void copy(String printed) {
    copy(new ByteArrayInputStream(printed.getBytes(StandardCharsets.UTF_8)));
  }

  /** Gives this many bytes, and never a line's end. */
  private static final class NoLine extends InputStream {
    private long left;

    private NoLine(long bytes) {
      left = bytes;
    }

    @Override
    public int read() {
      return left-- > 0 ? 'x' : -1;
    }

    @Override
    public int read(byte[] bytes, int from, int count) {
      int given = (int) Math.min(left, count);
      Arrays.fill(bytes, from, from + given, (byte) 'x');
      left -= given;
      return given == 0 ? -1 : given;
    }
  }

  /** 100 MB without a line's end are one short line. */
  @Test
  public void aLongLineIsCut() {
    copy(new NoLine(100L << 20));
    assertEquals(1, info.size());
    String line = info.get(0);
    assertTrue(line.substring(ChildLog.LINE_BYTES),
        line.endsWith(" ... (" + ((100L << 20) - ChildLog.LINE_BYTES) + " bytes more)"));
    assertTrue(line.length() < ChildLog.LINE_BYTES + 40);
  }

  /** The line after a cut one is complete again. */
  @Test
  public void aCutLineHarmsNoOther() {
    char[] noise = new char[ChildLog.LINE_BYTES + 1];
    Arrays.fill(noise, 'x');
    copy(new String(noise) + "\nwhole\nlast");
    assertTrue(info.get(0).endsWith("x ... (1 bytes more)"));
    assertEquals(Arrays.asList("whole", "last"), info.subList(1, 3));
  }

  /** Of a flood of lines a limited number is copied, and the others are counted. */
  @Test
  public void aFloodOfLinesIsCounted() {
    StringBuilder flood = new StringBuilder();
    for (int i = 0; i < 10_000; i++) {
      flood.append("line ").append(i).append('\n');
    }
    copy(flood.toString());
    assertEquals(ChildLog.LINES_A_SECOND, info.size());
    assertEquals(1, warnings.size());
    assertTrue(warnings.get(0), warnings.get(0).startsWith(
        10_000 - ChildLog.LINES_A_SECOND + " lines of the policy process were left out"));
  }

  /** A few long lines count as a flood, too. */
  @Test
  public void aFloodOfBytesIsCounted() {
    char[] noise = new char[ChildLog.LINE_BYTES];
    Arrays.fill(noise, 'x');
    StringBuilder flood = new StringBuilder();
    for (int i = 0; i < 100; i++) {
      flood.append(noise).append('\n');
    }
    copy(flood.toString());
    assertEquals(ChildLog.COPIED_A_SECOND / ChildLog.LINE_BYTES, info.size());
    assertTrue(warnings.get(0), warnings.get(0).startsWith(100 - info.size() + " lines"));
  }

  /** The level comes from the JSON line, not from a text somewhere in it. */
  @Test
  public void levelsAreReadAndNotSearchedFor() {
    copy("{\"event\": \"a\", \"level\": \"error\"}\n"
        + "{\"level\": \"info\", \"event\": \"said \\\"level\\\": \\\"error\\\"\"}\n"
        + "{\"x\": {\"level\": \"error\"}, \"level\": \"info\"}\n"
        + "\"level\": \"error\"\n"
        + "{\"level\": 7}\n{\"level\n");
    assertEquals(1, warnings.size());
    assertEquals(5, info.size());
  }

  /** Text that would look like another line of our log, or move a terminal's cursor, is removed. */
  @Test
  public void controlCharactersAreTakenOut() {
    copy("a\u001b[2Jb\rc\td\n");
    assertEquals("a?[2Jb?c\td", info.get(0));
  }

  /** Even an Error ends only the copying: YARN would halt the JVM. */
  @Test
  public void anErrorIsTheEndOfTheLogAlone() {
    new ChildLog(new ByteArrayInputStream("x\n".getBytes(StandardCharsets.UTF_8)), () -> ends++,
        (warning, text) -> {
          throw new OutOfMemoryError("as in a test");
        }, () -> 0).run();
    assertEquals(1, ends);
  }
}
