package org.loomcard.yarn.bridge;

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
import java.util.Collections;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What must survive a restart of the ResourceManager: the set-up applied last and the policies'
 * saved parts, in the state folder. Files appear whole: written beside, forced to disk, renamed.
 */
final class SetupStore {
  private static final Logger LOG = LoggerFactory.getLogger(SetupStore.class);
  private final BridgeConfig config;
  private final Path applied;
  private final Path saved;

  SetupStore(BridgeConfig config) {
    this.config = config;
    this.applied = config.stateDir.toPath().resolve("applied.json");
    this.saved = config.stateDir.toPath().resolve("saved.json");
  }

  /**
   * The set-up to start with: the one applied last, or else the configured one as version 1.
   *
   * @throws IOException when there is neither, or it cannot be read; the message says what to do
   */
  AppliedSetup load() throws IOException {
    String text = read(applied);
    if (text == null) {
      return first();
    }
    AppliedSetup last = parse(text);
    String edited = config.policyFile == null ? null : read(config.policyFile.toPath());
    if (edited != null && !edited.equals(last.yaml)) {
      LOG.warn("{} was edited after the last apply; {} stays in force. Apply the file (loomcard "
          + "policy apply, or rmadmin -refreshQueues) to use it", config.policyFile, last);
    }
    return last;
  }

  private AppliedSetup first() throws IOException {
    File path = config.setupPath;
    String remedy = "; compile one with 'loomcard cluster render' and name it in "
        + BridgeConfig.SETUP_PATH;
    if (path == null) {
      throw new IOException("no set-up was applied yet and " + BridgeConfig.SETUP_PATH
          + " is not set"
          + remedy);
    }
    String text = read(path.toPath());
    if (text == null) {
      throw new IOException(BridgeConfig.SETUP_PATH + ": " + path + ": no such file" + remedy);
    }
    String yaml = config.policyFile == null ? null : read(config.policyFile.toPath());
    return new AppliedSetup(setupIn(text.trim(), path), 1, yaml);
  }

  private AppliedSetup parse(String text) throws IOException {
    int version = 0;
    String yaml = null;
    String setup = null;
    try {
      JsonCursor in = new JsonCursor(text);
      in.openObject("applied set-up");
      for (String key = in.key(); key != null; key = in.key()) {
        switch (key) {
          case "version": version = in.integer("version"); break;
          case "yaml": yaml = in.stringOrNull("yaml"); break;
          case "setup": setup = in.raw(); break;
          default: throw new MessageException(key + ": unknown key");
        }
      }
      in.end();
    } catch (MessageException e) {
      throw unreadable(applied.toFile(), e);
    }
    return new AppliedSetup(setupIn(String.valueOf(setup), applied.toFile()), version, yaml);
  }

  private static Setup setupIn(String text, File file) throws IOException {
    try {
      return Setup.read(text);
    } catch (MessageException e) {
      throw unreadable(file, e);
    }
  }

  private static IOException unreadable(File file, MessageException e) {
    return new IOException(file + ": " + e.getMessage(), e);
  }

  /**
   * Keeps {@code next}, and writes its YAML to the configured place, the old text beside it as
   * .previous.
   */
  void apply(AppliedSetup next) throws IOException {
    StringBuilder text = new StringBuilder("{\"version\":").append(next.version);
    text.append(",\"yaml\":");
    JsonText.quote(text, next.yaml).append(",\"setup\":").append(next.setup.json).append('}');
    if (config.policyFile != null && next.yaml != null) {
      Path file = config.policyFile.toPath();
      String old = read(file);
      if (old != null && !old.equals(next.yaml)) {
        write(file.resolveSibling(file.getFileName() + ".previous"), old);
      }
      write(file, next.yaml);
    }
    write(applied, text.toString());
  }

  /**
   * What the policies saved, by {@code path:policy}; empty if that is nothing, or cannot be read.
   */
  Map<String, String> loadSaved() {
    try {
      String text = read(saved);
      if (text != null) {
        JsonCursor in = new JsonCursor(text);
        Map<String, String> read = in.rawValues(saved.toString());
        in.end();
        return read;
      }
    } catch (IOException | MessageException e) {
      LOG.error("The policies' saved parts are lost; they start anew: {}", e.getMessage());
    }
    return Collections.emptyMap();
  }

  void keepSaved(Map<String, String> parts) {
    StringBuilder text = new StringBuilder("{");
    String comma = "";
    for (Map.Entry<String, String> part : parts.entrySet()) {
      JsonText.quote(text.append(comma), part.getKey()).append(':').append(part.getValue());
      comma = ",";
    }
    try {
      write(saved, text.append('}').toString());
    } catch (IOException e) {
      LOG.error("Cannot keep the policies' saved parts in {}: {}", saved, e.toString());
    }
  }

  private static String read(Path path) throws IOException {
    try {
      return new String(Files.readAllBytes(path), StandardCharsets.UTF_8);
    } catch (NoSuchFileException e) {
      return null;
    }
  }

  private static void write(Path path, String text) throws IOException {
    Files.createDirectories(path.getParent());
    Path draft = path.resolveSibling(path.getFileName() + ".draft");
    try (FileChannel channel = FileChannel.open(draft, StandardOpenOption.CREATE,
        StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
      ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      channel.force(true);
    }
    Files.move(draft, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    try (FileChannel folder = FileChannel.open(path.getParent(), StandardOpenOption.READ)) {
      folder.force(true);
    }
  }
}
