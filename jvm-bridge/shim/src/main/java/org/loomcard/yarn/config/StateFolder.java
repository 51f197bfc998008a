package org.loomcard.yarn.config;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The folder with what governs the cluster. A user who can write there can put a configuration or a
 * policy of their own into force, so only the ResourceManager's user may.
 */
public final class StateFolder {
  private static final Logger LOG = LoggerFactory.getLogger(StateFolder.class);

  private StateFolder() {
  }

  /**
   * Makes the folder, for its owner alone, or checks the existing one.
   *
   * @throws IOException when it cannot be made, or others own it or may write there; one sentence
   *     that says what to do
   */
  public static void prepare(File folder) throws IOException {
    Path path = folder.toPath();
    if (make(path)) {
      return;
    }
    String problem = problem(path);
    if (problem != null) {
      throw new IOException(BridgeConfig.STATE_DIR + ": " + folder + ": expected a folder that "
          + "only its owner, the user of the ResourceManager, may write to, found " + problem);
    }
  }

  /** Makes the folder, for its owner alone; returns false when it exists. */
  public static boolean make(Path path) throws IOException {
    if (Files.exists(path)) {
      return false;
    }
    if (path.getParent() != null) {
      Files.createDirectories(path.getParent());
    }
    Files.createDirectory(path,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    return true;
  }

  private static String problem(Path path) throws IOException {
    if (!Files.isDirectory(path)) {
      return "a file; name another place or remove it";
    }
    PosixFileAttributes found = Files.readAttributes(path, PosixFileAttributes.class);
    String user = self();
    if (!found.owner().getName().equals(user)) {
      return "one that belongs to " + found.owner().getName() + "; chown it to " + user
          + " or name another place";
    }
    Set<PosixFilePermission> mode = found.permissions();
    if (mode.contains(PosixFilePermission.OTHERS_WRITE)) {
      return "mode " + PosixFilePermissions.toString(mode) + "; see that nothing strange lies in "
          + "it, then chmod 700 it";
    }
    if (mode.remove(PosixFilePermission.GROUP_WRITE)) {
      // The mode that a umask of 002 leaves, as on many systems.
      Files.setPosixFilePermissions(path, mode);
      LOG.warn("{}: its group could write there; it no longer can", path);
    }
    return null;
  }

  /** Returns the user that owns this process's files; user.name may name another one. */
  private static String self() throws IOException {
    Path own = new File("/proc/self").toPath();
    return Files.exists(own) ? Files.getOwner(own).getName() : System.getProperty("user.name");
  }

  /**
   * Makes a file with a fresh secret that only its owner may read; returns the secret, 64
   * hexadecimal digits.
   *
   * @throws IOException also when the file exists already
   */
  public static String createSecret(Path file) throws IOException {
    byte[] bytes = new byte[32];
    new SecureRandom().nextBytes(bytes);
    StringBuilder secret = new StringBuilder();
    for (byte b : bytes) {
      secret.append(String.format("%02x", b));
    }
    Files.createFile(file,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    Files.write(file, secret.toString().getBytes(StandardCharsets.US_ASCII));
    return secret.toString();
  }
}
