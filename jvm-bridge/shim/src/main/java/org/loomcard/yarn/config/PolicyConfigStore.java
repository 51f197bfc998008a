package org.loomcard.yarn.config;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.JsonText;
import org.loomcard.yarn.json.MessageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What must survive a restart of the ResourceManager: the configuration applied last, earlier ones,
 * and the policies' saved parts. A {@link StateStore} keeps the texts; no write takes longer than
 * {@code loomcard.state.deadline-ms}.
 */
public final class PolicyConfigStore {
  /** How many applied configurations are kept, including the one in force. */
  public static final int KEPT = 10;
  private static final Logger LOG = LoggerFactory.getLogger(PolicyConfigStore.class);
  private static final String APPLIED = "applied.json";
  private static final String CREATED = "created.json";
  private static final String SAVED = "saved.json";
  /** Where policy processes keep the texts of policies' files, each under its SHA-256. */
  public static final String COPIES = "applied-policies";
  private static final Pattern COPY = Pattern.compile("[0-9a-f]{64}\\.(py|draft)");
  private static final Pattern PAST = Pattern.compile("applied-(\\d{1,9})\\.json");
  private final BridgeConfig config;
  private final StateStore store;
  private final StateWriter writer;
  /** Newest first, beginning with the one in force; empty before {@link #load}. */
  private volatile List<AppliedConfig> kept = Collections.emptyList();
  /** Whether the one in force was written; the configured one of a single machine is not. */
  private volatile boolean written;
  private boolean moved;

  /** Creates one that keeps everything in the local folder of the settings. */
  public PolicyConfigStore(BridgeConfig config) {
    this(config, new LocalStateStore(config.stateDir));
  }

  public PolicyConfigStore(BridgeConfig config, StateStore store) {
    this.config = config;
    this.store = store;
    this.writer = new StateWriter(config.stateDeadlineMs);
  }

  /**
   * Returns the policy configuration to start with: the one applied last, otherwise the configured
   * one as version 1. If the store is shared, the configured one is written too: it then is in
   * force in whichever ResourceManager is next.
   *
   * @throws IOException when there is neither, or it cannot be read; the message says what to do
   */
  public AppliedConfig load() throws IOException {
    String text = store.read(APPLIED);
    AppliedConfig last = withCreated(text == null ? first() : parse(text, store.place(APPLIED)));
    List<AppliedConfig> all = new ArrayList<>(past(last.version));
    all.add(0, last);
    if (text == null && store.isShared()) {
      AppliedConfig first = last;
      writer.run(() -> store.write(APPLIED, first.json()));
    }
    kept = Collections.unmodifiableList(all);
    written = text != null || store.isShared();
    compareFile(last);
    return last;
  }

  /** The applied configurations that are still kept, newest first; the first one is in force. */
  public List<AppliedConfig> history() {
    return kept;
  }

  private List<AppliedConfig> past(int below) throws IOException {
    List<AppliedConfig> past = new ArrayList<>();
    for (String name : store.names()) {
      Matcher match = PAST.matcher(name);
      if (!match.matches() || Integer.parseInt(match.group(1)) >= below) {
        continue;
      }
      try {
        past.add(AppliedConfig.read(store.read(name)));
      } catch (IOException | MessageException e) {
        LOG.warn("{} cannot be read and is left out of the history: {}", store.place(name),
            e.getMessage());
      }
    }
    past.sort((one, other) -> other.version - one.version);
    return past;
  }

  /** Compares the policy file, which may be older or newer than the configuration in force. */
  private void compareFile(AppliedConfig last) throws IOException {
    String text = config.policyFile == null ? null
        : LocalStateStore.read(config.policyFile.toPath());
    if (text == null || last.yaml == null || text.equals(last.yaml)) {
      return;
    }
    if (store.isShared() && kept.stream().anyMatch(old -> text.equals(old.yaml))) {
      LOG.info("{} holds what another ResourceManager has replaced; it gets the text of {}",
          config.policyFile, last);
      writeFile(last.yaml);
      return;
    }
    LOG.warn("{} was edited after the last apply; {} stays in force. Apply the file (loomcard "
        + "policy apply, or rmadmin -refreshQueues) to use it", config.policyFile, last);
  }

  private AppliedConfig first() throws IOException {
    AppliedConfig local = store.isShared() ? local() : null;
    if (local != null) {
      LOG.info("{} of {} moves to {}", local, config.stateDir, store.place(APPLIED));
      moved = true;
      return local;
    }
    File path = config.setupPath;
    String remedy = "; compile one with 'loomcard policy compile' and name it in "
        + BridgeConfig.SETUP_PATH;
    if (path == null) {
      throw new IOException("no policy configuration was applied yet and " + BridgeConfig.SETUP_PATH
          + " is not set"
          + remedy);
    }
    String text = LocalStateStore.read(path.toPath());
    if (text == null) {
      throw new IOException(BridgeConfig.SETUP_PATH + ": " + path + ": no such file" + remedy);
    }
    String yaml = config.policyFile == null ? null
        : LocalStateStore.read(config.policyFile.toPath());
    try {
      return new AppliedConfig(PolicyConfig.read(text.trim()), 1, yaml, null,
          System.currentTimeMillis());
    } catch (MessageException e) {
      throw unreadable(path.toString(), e);
    }
  }

  /** Returns what was applied while the state was kept in the local folder; null for nothing. */
  private AppliedConfig local() throws IOException {
    StateStore before = new LocalStateStore(config.stateDir);
    String text = before.read(APPLIED);
    return text == null ? null : parse(text, before.place(APPLIED));
  }

  private static AppliedConfig parse(String text, String place) throws IOException {
    try {
      return AppliedConfig.read(text);
    } catch (MessageException e) {
      throw unreadable(place, e);
    }
  }

  private static IOException unreadable(String place, MessageException e) {
    return new IOException(place + ": " + e.getMessage(), e);
  }

  /**
   * Keeps {@code next}, then writes its YAML to the configured place, with the old text beside it
   * as .previous. After an exception nothing has changed.
   */
  public void apply(AppliedConfig next) throws IOException {
    List<AppliedConfig> before = kept;
    StateWriter.Task undo = () -> restore(before);
    writer.run(() -> put(next, before), undo);
    writer.run(() -> writeFile(next.yaml), undo); // not when the store was given up
    written = true;
    List<AppliedConfig> after = new ArrayList<>(before);
    after.add(0, next);
    for (AppliedConfig old : after.subList(Math.min(KEPT, after.size()), after.size())) {
      forget(old);
    }
    kept = Collections.unmodifiableList(
        new ArrayList<>(after.subList(0, Math.min(KEPT, after.size()))));
    prune();
  }

  /**
   * Keeps which queues were created. If that cannot be written, the applications that are recovered
   * bring their queues back, which takes longer.
   */
  public void keepCreated(PolicyConfig inForce) {
    String paths = JsonText.quoteAll(new StringBuilder(), inForce.created()).toString();
    try {
      writer.run(() -> store.write(CREATED, paths));
    } catch (IOException e) {
      LOG.warn("The created queues cannot be kept in {}: {}", store.place(CREATED), e.toString());
    }
  }

  private AppliedConfig withCreated(AppliedConfig last) {
    try {
      String paths = store.read(CREATED);
      return paths == null ? last : last.with(last.policyConfig.withCreated(
          new JsonCursor(paths).strings(store.place(CREATED))));
    } catch (IOException | MessageException e) {
      LOG.warn("The created queues cannot be read: {}", e.getMessage());
      return last;
    }
  }

  /** Deletes the texts of policies' files that no kept configuration names. */
  private void prune() {
    File copies = new File(config.stateDir, COPIES);
    List<AppliedConfig> named = kept;
    try {
      writer.run(() -> {
        String[] found = copies.list((dir, name) -> COPY.matcher(name).matches());
        for (String name : found == null ? new String[0] : found) {
          String digest = name.substring(0, name.indexOf('.'));
          if (named.stream().noneMatch(one -> one.policyConfig.json.contains(digest))) {
            Files.deleteIfExists(copies.toPath().resolve(name));
          }
        }
      });
    } catch (IOException e) {
      LOG.warn("Old texts of policies in {} cannot be removed: {}", copies, e.toString());
    }
  }

  /** Closes the store: nothing is read or written any more. */
  public void close() {
    store.close();
  }

  private void put(AppliedConfig next, List<AppliedConfig> before) throws IOException {
    if (!before.isEmpty()) {
      store.write(pastName(before.get(0)), before.get(0).json());
    }
    store.write(APPLIED, next.json());
  }

  private void restore(List<AppliedConfig> before) throws IOException {
    if (written && !before.isEmpty()) {
      store.write(APPLIED, before.get(0).json());
    } else {
      store.delete(APPLIED);
    }
  }

  private void writeFile(String yaml) throws IOException {
    if (config.policyFile != null && yaml != null) {
      Path file = config.policyFile.toPath();
      String old = LocalStateStore.read(file);
      if (old != null && !old.equals(yaml)) {
        LocalStateStore.write(file.resolveSibling(file.getFileName() + ".previous"), old);
      }
      LocalStateStore.write(file, yaml);
    }
  }

  private void forget(AppliedConfig old) {
    try {
      writer.run(() -> store.delete(pastName(old)));
    } catch (IOException e) {
      LOG.warn("{} cannot be removed: {}", store.place(pastName(old)), e.toString());
    }
  }

  private static String pastName(AppliedConfig old) {
    return "applied-" + old.version + ".json";
  }

  /**
   * Returns what the policies saved, by {@code path:policy}; empty if nothing was saved or it
   * cannot be read.
   */
  public Map<String, String> loadSaved() {
    try {
      String text = store.read(SAVED);
      if (text == null && moved) {
        text = new LocalStateStore(config.stateDir).read(SAVED);
      }
      if (text != null) {
        JsonCursor in = new JsonCursor(text);
        Map<String, String> read = in.rawValues(store.place(SAVED));
        in.end();
        return read;
      }
    } catch (IOException | MessageException e) {
      LOG.error("The policies' saved parts are lost; they start from nothing: {}", e.getMessage());
    }
    return Collections.emptyMap();
  }

  public void keepSaved(Map<String, String> parts) {
    StringBuilder text = new StringBuilder("{");
    String comma = "";
    for (Map.Entry<String, String> part : parts.entrySet()) {
      JsonText.quote(text.append(comma), part.getKey()).append(':').append(part.getValue());
      comma = ",";
    }
    String whole = text.append('}').toString();
    try {
      writer.run(() -> store.write(SAVED, whole));
    } catch (IOException e) {
      LOG.error("Cannot keep the policies' saved parts in {}: {}", store.place(SAVED),
          e.toString());
    }
  }
}
