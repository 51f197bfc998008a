package org.loomcard.yarn.wire;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.loomcard.yarn.bridge.CompileReply;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.json.MessageException;

/** The files that the tests of both languages read. */
public final class Golden {
  private Golden() {
  }

  /** The root of the repository, found upwards from the folder where the tests run. */
  public static File repository() {
    File folder = new File("").getAbsoluteFile();
    while (!new File(folder, "tests/golden/wire").isDirectory()) {
      folder = folder.getParentFile();
      if (folder == null) {
        throw new IllegalStateException("tests/golden/wire is not above "
            + new File("").getAbsolutePath());
      }
    }
    return folder;
  }

  public static String message(String name) throws IOException {
    Path path = new File(repository(), "tests/golden/wire/" + name + ".json").toPath();
    return new String(Files.readAllBytes(path), StandardCharsets.UTF_8).trim();
  }

  /** The compiled policy configuration of the golden messages. */
  public static PolicyConfig policyConfig() throws IOException, MessageException {
    return CompileReply.read(message("compiled")).policyConfig;
  }
}
