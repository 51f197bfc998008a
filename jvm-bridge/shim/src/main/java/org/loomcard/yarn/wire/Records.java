package org.loomcard.yarn.wire;

import java.util.ArrayList;
import java.util.List;

/**
 * Records of a batch that is being closed. Their content is read under the scheduler's lock; their
 * text, which costs more, is written without it.
 */
public final class Records {
  private final List<PendingEvents.Event> records = new ArrayList<>();
  private final long nowMs;

  public Records(long nowMs) {
    this.nowMs = nowMs;
  }

  /** The time of the batch, for what is read when it is closed. */
  public long nowMs() {
    return nowMs;
  }

  /** @param record has all it says, or refers to what does not change any more */
  public void add(PendingEvents.Event record) {
    records.add(record);
  }

  /** Writes all of them, in order. */
  public void writeTo(BatchWriter out) {
    for (PendingEvents.Event record : records) {
      record.write(out);
    }
  }
}
