package org.loomcard.yarn.bridge;

import java.io.File;
import org.loomcard.yarn.wire.Golden;

/** The interpreter that has the package; a missing one fails tests rather than skipping them. */
public final class PythonForTests {
  private PythonForTests() {
  }

  /** The interpreter's path. */
  public static String path() {
    String named = System.getProperty("loomcard.python", System.getenv("LOOMCARD_PYTHON"));
    String path = named != null ? named
        : new File(Golden.repository(), ".venv/bin/python").getPath();
    if (!new File(path).canExecute()) {
      throw new IllegalStateException(path
          + ": no Python there; run 'make setup', or name one that "
          + "has the package loomcard with LOOMCARD_PYTHON or -Dloomcard.python");
    }
    return path;
  }

  /** Returns the path of a Python file that is beside the tests. */
  public static String script(String name) {
    return new File(PythonForTests.class.getResource(name).getPath()).getPath();
  }
}
