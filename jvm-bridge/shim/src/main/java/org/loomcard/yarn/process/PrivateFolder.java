package org.loomcard.yarn.process;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.loomcard.yarn.config.StateFolder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder that only our user may enter, for the secret and the ready file of one policy process.
 */
final class PrivateFolder {
  private static final Logger LOG = LoggerFactory.getLogger(PrivateFolder.class);
  private static final long READY_BYTES = 4096;
  private static final String PREFIX = "policy-process-";
  private static final String SECRET = "secret";
  private final Path path;
  private final String secret;

  private PrivateFolder(Path path, String secret) {
    this.path = path;
    this.secret = secret;
  }

  /**
   * Makes a new folder with a new secret, which this JVM owns. It is in the spare folder if the
   * first one takes no files, since its disk is full or read-only.
   */
  static PrivateFolder in(File parent, File spare) throws IOException {
    String owner = ManagementFactory.getRuntimeMXBean().getName().split("@")[0];
    try {
      return in(parent, owner);
    } catch (IOException e) {
      LOG.warn("{} takes no files ({}); the policy process gets a folder in {}", parent, e, spare);
      return in(spare, owner);
    }
  }

  /** Makes a new folder that the JVM of this process id owns. */
  static PrivateFolder in(File parent, String owner) throws IOException {
    Files.createDirectories(parent.toPath());
    Path path = Files.createTempDirectory(parent.toPath(), PREFIX + owner + "-",
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    try {
      return new PrivateFolder(path, StateFolder.createSecret(path.resolve(SECRET)));
    } catch (IOException e) {
      new PrivateFolder(path, "").delete();
      throw e;
    }
  }

  /** Returns a folder that any JVM made before; null when the path cannot be one. */
  static PrivateFolder existing(Path path) {
    return path.getFileName().toString().matches(PREFIX + "\\d+-\\d+")
        ? new PrivateFolder(path, "") : null;
  }

  /** Returns the process id of the JVM that made it. */
  String owner() {
    return path.getFileName().toString().substring(PREFIX.length()).split("-")[0];
  }

  String secret() {
    return secret;
  }

  File secretFile() {
    return path.resolve(SECRET).toFile();
  }

  File ready() {
    return path.resolve("ready.json").toFile();
  }

  /** Returns the text of the ready file; null while there is none. */
  String readReady() throws IOException {
    if (ready().length() > READY_BYTES) {
      throw new IOException(ready() + ": expected a ready file of at most " + READY_BYTES
          + " bytes, found " + ready().length());
    }
    try {
      return new String(Files.readAllBytes(ready().toPath()), StandardCharsets.UTF_8);
    } catch (NoSuchFileException e) {
      return null;
    }
  }

  void delete() {
    secretFile().delete();
    ready().delete();
    path.toFile().delete();
  }
}
