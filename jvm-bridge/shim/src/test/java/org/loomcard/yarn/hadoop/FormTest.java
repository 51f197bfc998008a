package org.loomcard.yarn.hadoop;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.lang.invoke.MethodHandle;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.util.VersionInfo;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.junit.Test;

/** Calls that have several forms. */
public final class FormTest {
  private final Set<String> missing = new TreeSet<>();

  /** The first form that is there is called, without the arguments that it does not take. */
  @Test
  public void theFirstFormThereIsCalled() throws Throwable {
    MethodHandle handle = Form.of(Object.class, String.class, String.class, int.class)
        .method(Form.type("org.loomcard.NoSuchClass"), "concat", String.class)
        .method(String.class, "concat", String.class, int.class)
        .method(String.class, "concat", String.class)
        .method(String.class, "length").get(missing);
    assertEquals("ab", (Object) handle.invokeExact("a", "b", 1));
    assertTrue(missing.isEmpty());
  }

  /** A method that need not be there does nothing where it is not. */
  @Test
  public void anAbsentOptionalMethodDoesNothing() throws Throwable {
    MethodHandle handle = Form.optional(String.class, "noSuchMethod", int.class);
    assertNull((Object) handle.invokeExact("a", 1));
  }

  /** Start-up fails with one sentence: what is missing, in which release, and what to do. */
  @Test
  public void whatIsMissingIsNamed() {
    Form.require(missing);
    Form.of(Object.class, String.class).method(String.class, "noSuchMethod").get(missing);
    Form.of(Object.class).constructor(Integer.class).get(missing);
    YarnRuntimeException refused =
        assertThrows(YarnRuntimeException.class, () -> Form.require(missing));
    assertEquals("Loomcard cannot schedule for Hadoop " + VersionInfo.getVersion()
        + ", whose YARN has no Integer.new, no String.noSuchMethod: use Hadoop 2.10 or 3.1 to 3.5,"
        + " or another scheduler", refused.getMessage());
  }

  /** What a call throws reaches the caller as it is, also a checked exception. */
  @Test
  public void exceptionsPassUnchanged() {
    assertThrows(InterruptedException.class, () -> Form.call(() -> {
      throw new InterruptedException();
    }));
  }
}
