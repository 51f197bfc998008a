package org.loomcard.yarn.config;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;

/** A new file with a fresh secret that only its owner may read. */
public final class SecretFile {
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int BYTES = 32;

  private SecretFile() {
  }

  /**
   * Makes the file and returns the secret: 64 hexadecimal digits.
   *
   * @throws IOException also when the file exists already
   */
  public static String create(Path file) throws IOException {
    byte[] bytes = new byte[BYTES];
    RANDOM.nextBytes(bytes);
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
