package org.loomcard.yarn.hadoop;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.lang.invoke.MethodHandle;
import java.util.Set;
import java.util.TreeSet;
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

  /** A call without a form is named by its last one. */
  @Test
  public void whatIsMissingIsNamed() {
    Form.of(Object.class, String.class).method(String.class, "noSuchMethod").get(missing);
    Form.of(Object.class).constructor(Integer.class).get(missing);
    assertEquals("[Integer.new, String.noSuchMethod]", missing.toString());
  }

  /** What a call throws reaches the caller as it is, also a checked exception. */
  @Test
  public void exceptionsPassUnchanged() {
    assertThrows(InterruptedException.class, () -> Form.call(() -> {
      throw new InterruptedException();
    }));
  }
}
