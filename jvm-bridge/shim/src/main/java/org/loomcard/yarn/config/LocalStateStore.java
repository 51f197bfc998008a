package org.loomcard.yarn.config;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Files in a folder that this machine mounts, which only their owner may read. Each is written
 * beside the old one, forced to disk, and renamed.
 */
public final class LocalStateStore implements StateStore {
  private static final Logger LOG = LoggerFactory.getLogger(LocalStateStore.class);
  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
  private final Path folder;
  private final boolean shared;

  /** Creates a store in a folder of this machine alone. */
  public LocalStateStore(File folder) {
    this(folder, false);
  }

  /** @param shared whether every ResourceManager sees the folder */
  LocalStateStore(File folder, boolean shared) {
    this.folder = folder.toPath();
    this.shared = shared;
  }

  /**
   * Makes the folder and tries to write into it. A folder in use may take no writes now, for
   * example on a full or read-only disk. That does not keep the cluster down: it is logged, and the
   * FIFO serves until the policy process finds room there.
   *
   * @throws IOException when a folder that contains nothing yet cannot be written; the message
   *     names the setting and what to do
   */
  public void check(String setting) throws IOException {
    try {
      StateFolder.make(folder);
      Files.delete(Files.createTempFile(folder, "writable-", ""));
    } catch (IOException e) {
      if (!names().isEmpty()) {
        LOG.error("{} = \"{}\" cannot be written ({}). What was applied governs; no policy process "
            + "can be started and nothing applied until that is repaired", setting, folder,
            e.toString());
        return;
      }
      throw new IOException(setting + " = \"" + folder + "\" in yarn-site.xml: expected a folder "
          + "that user " + System.getProperty("user.name") + " may write (" + e + ")", e);
    }
  }

  @Override
  public String read(String name) throws IOException {
    return read(folder.resolve(name));
  }

  @Override
  public void write(String name, String text) throws IOException {
    StateFolder.make(folder);
    write(folder.resolve(name), text, OWNER_ONLY);
  }

  @Override
  public void delete(String name) throws IOException {
    Files.deleteIfExists(folder.resolve(name));
  }

  @Override
  public List<String> names() {
    String[] found = folder.toFile().list();
    return found == null ? Collections.<String>emptyList() : Arrays.asList(found);
  }

  @Override
  public boolean isShared() {
    return shared;
  }

  @Override
  public void close() {
  }

  @Override
  public String place(String name) {
    return folder.resolve(name).toString();
  }

  static String read(Path path) throws IOException {
    try {
      return new String(Files.readAllBytes(path), StandardCharsets.UTF_8);
    } catch (NoSuchFileException e) {
      return null;
    } catch (IOException e) {
      throw new IOException(path + ": cannot be read: " + e.getMessage(), e);
    }
  }

  static void write(Path path, String text, FileAttribute<?>... mode) throws IOException {
    Files.createDirectories(path.getParent());
    Path draft = path.resolveSibling(path.getFileName() + ".draft");
    Files.deleteIfExists(draft); // an old draft may have another mode
    try (FileChannel channel = FileChannel.open(draft,
        EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), mode)) {
      ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      channel.force(true);
    }
    Files.move(draft, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    try (FileChannel parent = FileChannel.open(path.getParent(), StandardOpenOption.READ)) {
      parent.force(true);
    }
  }
}
