package org.loomcard.yarn.process;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.MessageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies what a policy process prints to a separate log, line by line. The memory and the lines
 * that this takes are limited, whatever a policy prints: a long line is cut, and lines beyond a
 * rate are counted and left out. A flood of bytes is read no faster than a limit, so the process
 * that prints it must wait.
 */
final class ChildLog implements Runnable {
  /** How many bytes of a line are kept: a traceback fits. */
  static final int LINE_BYTES = 64 * 1024;
  /** How many lines are copied in a second. */
  static final int LINES_A_SECOND = 500;
  /** How many bytes are copied in a second. */
  static final int COPIED_A_SECOND = 1 << 20;
  private static final long BYTES_A_SECOND = 256L << 20;
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  /** A separate logger, so that an operator can send it elsewhere. */
  private static final Logger CHILD_LOG = LoggerFactory.getLogger("org.loomcard.policy");
  private static final Logger LOG = LoggerFactory.getLogger(ChildLog.class);
  private final InputStream in;
  private final Runnable onEnd;
  private final Sink sink;
  private final LongSupplier nanoTime;
  private final byte[] line = new byte[LINE_BYTES];
  private int length;
  private long cut;
  private long windowNanos;
  private long windowBytes;
  private int windowLines;
  private int windowCopied;
  private long leftOut;

  /** Where lines go. */
  interface Sink {
    void line(boolean warning, String text);
  }

  /** @param onEnd called once, when nothing more will be read */
  ChildLog(InputStream in, Runnable onEnd) {
    this(in, onEnd, ChildLog::log, System::nanoTime);
  }

  ChildLog(InputStream in, Runnable onEnd, Sink sink, LongSupplier nanoTime) {
    this.in = in;
    this.onEnd = onEnd;
    this.sink = sink;
    this.nanoTime = nanoTime;
    this.windowNanos = nanoTime.getAsLong();
  }

  private static void log(boolean warning, String text) {
    if (warning) {
      CHILD_LOG.warn(text);
    } else {
      CHILD_LOG.info(text);
    }
  }

  @Override
  public void run() {
    try (InputStream source = in) {
      copy(source);
    } catch (IOException e) {
      LOG.debug("The log of the policy process ended", e);
    } catch (Throwable e) {
      // Also for an Error: YARN halts the JVM when a thread dies of one.
      LOG.error("The log of the policy process cannot be read any more; it is ended", e);
    } finally {
      onEnd.run();
    }
  }

  private void copy(InputStream source) throws IOException {
    byte[] chunk = new byte[8192];
    for (int read = source.read(chunk); read >= 0; read = source.read(chunk)) {
      for (int i = 0; i < read; i++) {
        take(chunk[i]);
      }
      buffer(read);
    }
    if (length > 0) {
      endLine();
    }
    tellLeftOut();
  }

  private void take(byte next) {
    if (next == '\n') {
      endLine();
    } else if (length < LINE_BYTES) {
      line[length++] = next;
    } else {
      cut++;
    }
  }

  private void endLine() {
    if (windowLines < LINES_A_SECOND && windowCopied + length <= COPIED_A_SECOND) {
      windowLines++;
      windowCopied += length;
      String text = printable(new String(line, 0, length, StandardCharsets.UTF_8));
      sink.line(isWarning(text), cut == 0 ? text : text + " ... (" + cut + " bytes more)");
    } else {
      leftOut++;
    }
    length = 0;
    cut = 0;
  }

  /** Counts bytes, and waits for the next second when this one has had its share. */
  private void buffer(int read) {
    windowBytes += read;
    long left = windowNanos + SECOND - nanoTime.getAsLong();
    while (left > 0 && windowBytes >= BYTES_A_SECOND && !Thread.currentThread().isInterrupted()) {
      LockSupport.parkNanos(this, left);
      left = windowNanos + SECOND - nanoTime.getAsLong();
    }
    if (left <= 0) {
      tellLeftOut();
      windowNanos = nanoTime.getAsLong();
      windowBytes = 0;
      windowLines = 0;
      windowCopied = 0;
    }
  }

  private void tellLeftOut() {
    if (leftOut > 0) {
      sink.line(true, leftOut + " lines of the policy process were left out: it prints more than "
          + LINES_A_SECOND + " a second, or " + (COPIED_A_SECOND >> 20) + " MiB");
      leftOut = 0;
    }
  }

  /** Cleans a text: a policy must not write lines into our log that look like other lines. */
  private static String printable(String text) {
    StringBuilder clean = null;
    for (int i = 0; i < text.length(); i++) {
      if (Character.isISOControl(text.charAt(i)) && text.charAt(i) != '\t') {
        clean = clean == null ? new StringBuilder(text) : clean;
        clean.setCharAt(i, '?');
      }
    }
    return clean == null ? text : clean.toString();
  }

  /** Whether the line is one of the process's own JSON lines, with a level of warning or above. */
  private static boolean isWarning(String text) {
    if (!text.startsWith("{")) {
      return false;
    }
    try {
      JsonCursor in = new JsonCursor(text);
      in.openObject("log line");
      for (String key = in.key(); key != null; key = in.key()) {
        if (key.equals("level")) {
          String level = in.string("level");
          return level.equals("warning") || level.equals("error") || level.equals("critical");
        }
        in.raw();
      }
    } catch (MessageException e) {
      LOG.trace("Not one of the process's own lines", e);
    }
    return false;
  }
}
