package org.loomcard.yarn.hadoop;

import static org.junit.Assert.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import java.util.TreeSet;
import org.apache.hadoop.util.VersionInfo;
import org.junit.Test;

/** A Hadoop that lacks what the scheduler needs is refused, by what is missing. */
public final class LinkCheckTest {
  private static final String SCHEDULER =
      "org/apache/hadoop/yarn/server/resourcemanager/scheduler/";

  /** Finds the classes of this Hadoop, but for one that is missing or has a changed name in it. */
  private static final class Doctored extends ClassLoader {
    private final String type;
    private final String from;
    private final String to;

    private Doctored(String type, String from, String to) {
      super(LinkCheck.class.getClassLoader());
      this.type = type + ".class";
      this.from = from;
      this.to = to;
    }

    @Override
    public InputStream getResourceAsStream(String name) {
      InputStream file = super.getResourceAsStream(name);
      if (!name.equals(type)) {
        return file;
      }
      return from == null ? null : changed(file);
    }

    private InputStream changed(InputStream file) {
      try (InputStream old = file) {
        byte[] bytes = new byte[1 << 20];
        int length = 0;
        for (int read = 0; read >= 0; read = old.read(bytes, length, bytes.length - length)) {
          length += read;
        }
        String text = new String(bytes, 0, length, StandardCharsets.ISO_8859_1);
        return new ByteArrayInputStream(
            text.replace(from, to).getBytes(StandardCharsets.ISO_8859_1));
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }
  }

  private static Map<String, String> missing(String type, String from, String to)
      throws Exception {
    Path ours = Paths.get(
        LinkCheck.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    return LinkCheck.missing(Collections.singleton(ours), new Doctored(type, from, to));
  }

  @Test
  public void nothingIsMissingInTheHadoopItWasBuiltWith() throws Exception {
    assertEquals(Collections.emptyMap(), missing("", null, null));
    LinkCheck.require();
  }

  @Test
  public void aMissingClassIsNamed() throws Exception {
    assertEquals(Collections.singleton("org.apache.hadoop.yarn.util.resource.Resources"),
        missing("org/apache/hadoop/yarn/util/resource/Resources", null, null).keySet());
  }

  /** A method under another name is missing, also one that a class of ours inherits. */
  @Test
  public void aMissingMethodIsNamedWithItsParameters() throws Exception {
    assertEquals("[SchedulerNode.getUnallocatedResource()]",
        missing(SCHEDULER + "SchedulerNode", "getUnallocatedResource", "getUnallocatedResourc3")
            .keySet().toString());
  }

  /** A new abstract method, which this jar does not have, would fail at its first call. */
  @Test
  public void aMethodToImplementIsNamed() throws Exception {
    assertEquals("[default YarnScheduler.getNumClusterNode5()]",
        missing(SCHEDULER + "YarnScheduler", "getNumClusterNodes", "getNumClusterNode5")
            .keySet().toString());
  }

  /** One sentence: what is missing, in which release, and what to do; not a page of names. */
  @Test
  public void theSentenceNamesSymbolReleaseAndRemedy() {
    String release = VersionInfo.getVersion();
    assertEquals("Loomcard cannot schedule for Hadoop " + release + ", whose YARN has no A.b(int):"
        + " use Hadoop 2.10 or 3.1 to 3.5, or another scheduler",
        LinkCheck.sentence(Collections.singleton("A.b(int)")));
    assertEquals("Loomcard cannot schedule for Hadoop " + release + ", whose YARN has no 1, no 2,"
        + " no 3, no 4, no 5 and no 2 more: use Hadoop 2.10 or 3.1 to 3.5, or another scheduler",
        LinkCheck.sentence(new TreeSet<>(Arrays.asList("7", "1", "2", "3", "4", "5", "6"))));
  }
}
