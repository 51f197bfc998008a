package org.loomcard.yarn.rounds;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.zip.InflaterInputStream;
import org.apache.commons.io.IOUtils;

/**
 * The messages of the rounds since a state from which a replay can begin: the last snapshot, or the
 * process's own account of its state. It keeps the texts that were sent anyway. Written by the
 * round thread, read by any.
 */
public final class RoundHistory {
  /** The most characters after the first line; then it begins again from the process's account. */
  private static final long MOST_CHARS = 16L << 20;
  /** An account is written again after as many characters as it has, times this; it is packed. */
  private static final long WORTH = 32;
  /** So many times the most characters are kept while no account can be had. */
  private static final long TOO_MANY = 4;
  private static final String PACKED = "[\"header\",\"";
  private static final int NONE = -1;
  private final List<String> lines = new ArrayList<>();
  private long chars;
  private long most;
  private int mark = NONE;
  private long charsAtMark;

  RoundHistory() {
  }

  /**
   * Forgets all messages; what follows can be replayed from {@code header}.
   *
   * @param header the first line of a journal's segment
   */
  synchronized void begin(String header) {
    lines.clear();
    mark = NONE;
    most = MOST_CHARS;
    lines.add(header);
    chars = 0;
  }

  /** Notes that the process was asked for its account of the state before the next message. */
  synchronized void mark() {
    mark = lines.size();
    charsAtMark = chars;
  }

  synchronized boolean isMarked() {
    return mark != NONE;
  }

  /** Forgets the messages before the mark: they are replaced by the process's packed account. */
  synchronized void beginAtMark(String header) {
    lines.subList(0, mark).clear();
    lines.add(0, header);
    chars -= charsAtMark;
    most = MOST_CHARS + WORTH * header.length();
    mark = NONE;
  }

  /**
   * Removes the mark, as there was no account; all messages are kept. Returns false when they had
   * become too many: nothing is kept then until the next snapshot.
   */
  synchronized boolean unmark() {
    mark = NONE;
    if (chars <= TOO_MANY * most) {
      return true;
    }
    lines.clear();
    chars = 0;
    return false;
  }

  /** Whether a reply is the account that {@link #beginAtMark} takes. */
  static boolean isPacked(String reply) {
    return reply.startsWith(PACKED);
  }

  /** Adds a batch that is sent, or its plan that has come. */
  synchronized void add(String text) {
    if (lines.isEmpty()) {
      return;
    }
    lines.add(text);
    chars += text.length();
  }

  /** Whether it is time to begin again. */
  synchronized boolean isFull() {
    return chars > most;
  }

  /**
   * Returns the lines of a segment, the first one perhaps packed; the plan of the last batch is
   * missing if it has not come.
   */
  public synchronized List<String> lines() {
    return new ArrayList<>(lines);
  }

  /**
   * Returns a line as a journal has it; what is packed takes a while.
   *
   * @throws IOException when the packed text is damaged
   */
  public static String unpacked(String line) throws IOException {
    if (!isPacked(line)) {
      return line;
    }
    String text = line.substring(PACKED.length(), line.indexOf('"', PACKED.length()));
    ByteArrayInputStream bytes = new ByteArrayInputStream(Base64.getDecoder().decode(text));
    return IOUtils.toString(new InflaterInputStream(bytes), StandardCharsets.UTF_8);
  }
}
