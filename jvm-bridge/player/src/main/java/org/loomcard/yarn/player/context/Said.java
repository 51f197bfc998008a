package org.loomcard.yarn.player.context;

import java.util.Collections;
import java.util.List;

/**
 * What an application does now, by its model: python/loomcard/player/played_master.py describes the
 * fields.
 */
public final class Said {
  public List<AskRow> asks = Collections.emptyList();
  public List<Use> uses = Collections.emptyList();
  public List<Long> releases = Collections.emptyList();
  public List<End> ends = Collections.emptyList();
  public boolean demanding;
  public Long wakeMs;
  public String state = "";
  public String diagnostics = "";

  /** A row of an ask. */
  public static final class AskRow {
    public int priority;
    public long requestId;
    public long[] size;
    public String name;
    public int count;
  }

  /** What an allocated container is used for. */
  public static final class Use {
    public long container;
    public String node;
    public String stage;
    public int task = -1;
    public int attempt = 1;
    public boolean kept;
    public Long lengthMs;
    public int status;
  }

  /** Says when a container without a length ends. */
  public static final class End {
    public long container;
    public long ranMs;
    public long earliestMs;
  }
}
