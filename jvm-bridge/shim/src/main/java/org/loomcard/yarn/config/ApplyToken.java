package org.loomcard.yarn.config;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.EnumSet;
import java.util.Set;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The secret in the state folder. A caller sends it when HTTP does not prove who calls: a caller
 * that knows it can read that folder. It is kept across restarts; to renew it, delete the file.
 */
public final class ApplyToken {
  /** Its file in the state folder. */
  public static final String FILE = "apply.token";
  private static final Logger LOG = LoggerFactory.getLogger(ApplyToken.class);
  private static final Pattern FORM = Pattern.compile("[0-9A-Za-z_-]{32,256}");
  private static final Set<PosixFilePermission> OWNERS =
      EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);

  private final File folder;
  private final Path file;

  /** Creates the token of this state folder. */
  public ApplyToken(File folder) {
    this.folder = folder;
    file = folder.toPath().resolve(FILE);
  }

  /** The path of its file. */
  public Path file() {
    return file;
  }

  /** Makes the file if it is missing. A folder that cannot take a file now is logged. */
  public void prepare() {
    try {
      current();
    } catch (IOException e) {
      LOG.warn("{}", e.getMessage());
    }
  }

  /**
   * Whether the text is the token; takes the same time wherever the two differ.
   *
   * @param given what a caller sent, null for nothing
   * @throws IOException when there is no token and none can be made; one sentence
   */
  public boolean matches(String given) throws IOException {
    byte[] expected = current().getBytes(StandardCharsets.US_ASCII);
    return given != null
        && MessageDigest.isEqual(expected, given.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Reads the file at each change, so that a token that was renewed or copied here is valid at
   * once.
   */
  private synchronized String current() throws IOException {
    String problem;
    try {
      problem = problem();
      String token = problem == null
          ? new String(Files.readAllBytes(file), StandardCharsets.US_ASCII).trim() : "";
      if (FORM.matcher(token).matches()) {
        return token;
      }
      problem = problem == null ? "no token" : problem;
    } catch (NoSuchFileException e) {
      problem = null;
    } catch (IOException e) {
      problem = e.toString();
    }
    try {
      if (problem != null) {
        LOG.warn("{} gets a new token: found {}", file, problem);
      }
      return renewed();
    } catch (IOException e) {
      throw new IOException(file + ": no token for changes over HTTP can be written there (" + e
          + ")", e);
    }
  }

  private String problem() throws IOException {
    PosixFileAttributes found = Files.readAttributes(file, PosixFileAttributes.class,
        LinkOption.NOFOLLOW_LINKS);
    if (!found.isRegularFile()) {
      return "something that is no file";
    }
    if (!OWNERS.containsAll(found.permissions())) {
      return "mode " + PosixFilePermissions.toString(found.permissions())
          + ", with which others may have read it";
    }
    return null;
  }

  /** Writes a new token beside the old and renames it: no reader gets half a token. */
  private String renewed() throws IOException {
    StateFolder.prepare(folder);
    Path draft = file.resolveSibling(FILE + ".draft");
    Files.deleteIfExists(draft);
    String token = StateFolder.createSecret(draft);
    Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    return token;
  }
}
