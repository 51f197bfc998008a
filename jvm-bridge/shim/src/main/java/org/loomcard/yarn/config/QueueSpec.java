package org.loomcard.yarn.config;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.MessageException;

/**
 * One queue of a compiled policy configuration, immutable; docs/reference/wire.md says what each
 * field means.
 */
public final class QueueSpec {
  /** Stands for a limit that is absent. */
  public static final int NONE = -1;
  /** Its number: its index in {@link PolicyConfig#queues}. */
  public final int index;
  public final String path;
  /** The number of the parent; -1 for root. */
  public final int parent;
  /** Whether it may have applications. */
  public final boolean leaf;
  /** The policy that governs it; null for a queue that an ancestor's policy walks. */
  public final String policy;
  public final boolean walked;
  /** JSON text of the policy's options. */
  public final String options;
  public final double weight;
  public final Limit guaranteed;
  public final Limit maximum;
  /** Millionths of the queue's maximum capacity. */
  public final int userLimitPpm;
  /** Millionths of the queue's maximum capacity. */
  public final int amSharePpm;
  public final int reservationSharePpm;
  /** On how many nodes room may be reserved for one application. */
  public final int reservationNodes;
  /**
   * Who may submit: {@code *}, user names, {@code group:NAME}. It includes those who may
   * administer.
   */
  public final List<String> submit;
  public final List<String> administer;
  /** {@code running}, {@code stopped} or {@code draining}. */
  public final String state;
  /** How many applications may be live here and below; {@link #NONE}: no limit. */
  public final int maximumApplications;
  public final int maximumApplicationsPerUser;
  /** The largest container that may be asked for, by resource; empty: no limit. */
  public final Map<String, Long> maximumAllocation;
  /** In seconds; {@link #NONE}: no limit. */
  public final int maximumLifetimeS;
  /** For applications that state none; in seconds. */
  public final int defaultLifetimeS;
  /** The node labels that may be asked for; null for all. */
  public final List<String> labels;
  /** The label of asks that name none. */
  public final String defaultLabel;
  /** By label, in millionths of the parent's maximum on its nodes. */
  public final Map<String, Long> labelMaximumPpm;
  /**
   * The same for its guarantee there: policies use it as an order; the commit does not check it.
   */
  public final Map<String, Long> labelGuaranteedPpm;

  private QueueSpec(int index, JsonCursor in) throws MessageException {
    Fields read = new Fields(index, in);
    this.index = index;
    this.path = read.path;
    this.parent = read.parent;
    this.leaf = read.leaf;
    this.policy = read.policy;
    this.walked = read.walked;
    this.options = read.options;
    this.weight = read.weight;
    this.guaranteed = read.guaranteed;
    this.maximum = read.maximum;
    this.userLimitPpm = read.userLimitPpm;
    this.amSharePpm = read.amSharePpm;
    this.reservationSharePpm = read.reservationSharePpm;
    this.reservationNodes = read.reservationNodes;
    this.submit = Collections.unmodifiableList(read.submit);
    this.administer = Collections.unmodifiableList(read.administer);
    this.state = read.state;
    this.maximumApplications = read.maximumApplications;
    this.maximumApplicationsPerUser = read.maximumApplicationsPerUser;
    this.maximumAllocation = Collections.unmodifiableMap(read.maximumAllocation);
    this.maximumLifetimeS = read.maximumLifetimeS;
    this.defaultLifetimeS = read.defaultLifetimeS;
    this.labels = read.labels == null ? null : Collections.unmodifiableList(read.labels);
    this.defaultLabel = read.defaultLabel;
    this.labelMaximumPpm = Collections.unmodifiableMap(read.labelMaximumPpm);
    this.labelGuaranteedPpm = Collections.unmodifiableMap(read.labelGuaranteedPpm);
  }

  /** The last part of the path. */
  public String name() {
    return path.substring(path.lastIndexOf('.') + 1);
  }

  @Override
  public String toString() {
    return path;
  }

  static QueueSpec read(int index, JsonCursor in) throws MessageException {
    return new QueueSpec(index, in);
  }

  /** The fields while they are read, in any order. */
  private static final class Fields {
    private String path;
    private int parent = -1;
    private boolean leaf;
    private String policy;
    private boolean walked;
    private String options = "{}";
    private double weight = 1;
    private Limit guaranteed = Limit.ofShare(0);
    private Limit maximum = Limit.ofShare(1_000_000);
    private int userLimitPpm = 1_000_000;
    private int amSharePpm = 1_000_000;
    private int reservationSharePpm = 100_000;
    private int reservationNodes = 1;
    private List<String> submit = Collections.emptyList();
    private List<String> administer = Collections.emptyList();
    private String state = "running";
    private int maximumApplications = NONE;
    private int maximumApplicationsPerUser = NONE;
    private TreeMap<String, Long> maximumAllocation = new TreeMap<>();
    private int maximumLifetimeS = NONE;
    private int defaultLifetimeS = NONE;
    private List<String> labels;
    private String defaultLabel = "";
    private TreeMap<String, Long> labelMaximumPpm = new TreeMap<>();
    private TreeMap<String, Long> labelGuaranteedPpm = new TreeMap<>();

    /** Reads one queue whose opening brace has been read. */
    private Fields(int index, JsonCursor in) throws MessageException {
      for (String key = in.key(); key != null; key = in.key()) {
        read(key, "config: queues[" + index + "]: " + key, in);
      }
      if (path == null || parent >= index || (index > 0) != (parent >= 0)) {
        throw new MessageException("config: queues[" + index
            + "]: needs a path and a parent that stands before it");
      }
    }

    private void read(String key, String place, JsonCursor in) throws MessageException {
      switch (key) {
        case "path": path = in.string(place); break;
        case "parent": parent = parentOf(in.numberOrNull(place)); break;
        case "leaf": leaf = in.bool(place); break;
        case "policy": policy = in.stringOrNull(place); break;
        case "policy_named": in.bool(place); break; // for the page, which reads the JSON
        case "walked": walked = in.bool(place); break;
        case "options": options = in.raw(); break;
        case "weight": weight = in.decimal(place); break;
        case "guaranteed": guaranteed = limit(in, place); break;
        case "maximum": maximum = limit(in, place); break;
        case "user_limit_ppm": userLimitPpm = in.integer(place); break;
        case "am_share_ppm": amSharePpm = in.integer(place); break;
        case "hold_share_ppm": // of the version before, in a store
        case "reservation_share_ppm": reservationSharePpm = in.integer(place); break;
        case "hold_nodes": // likewise
        case "reservation_nodes": reservationNodes = in.integer(place); break;
        case "submit": submit = in.strings(place); break;
        case "administer": administer = in.strings(place); break;
        case "state": state = in.string(place); break;
        case "maximum_applications": maximumApplications = in.integer(place); break;
        case "maximum_applications_per_user": maximumApplicationsPerUser = in.integer(place); break;
        case "maximum_allocation": maximumAllocation = amounts(in, place); break;
        case "maximum_lifetime_s": maximumLifetimeS = in.integer(place); break;
        case "default_lifetime_s": defaultLifetimeS = in.integer(place); break;
        case "labels": labels = in.strings(place); break;
        case "default_label": defaultLabel = in.string(place); break;
        case "label_maximum_ppm": labelMaximumPpm = amounts(in, place); break;
        case "label_guaranteed_ppm": labelGuaranteedPpm = amounts(in, place); break;
        default: throw new MessageException(place
            + ": unknown key; this shim reads policy configurations of schema "
            + PolicyConfig.SCHEMA);
      }
    }

    private static int parentOf(Long parent) {
      return parent == null ? -1 : parent.intValue();
    }

    private static Limit limit(JsonCursor in, String place) throws MessageException {
      in.openObject(place);
      Limit limit = null;
      for (String key = in.key(); key != null; key = in.key()) {
        if (key.equals("ppm")) {
          limit = Limit.ofShare(in.integer(place + ": ppm"));
        } else if (key.equals("amounts")) {
          limit = Limit.ofAmounts(amounts(in, place + ": amounts"));
        } else {
          throw new MessageException(place + ": expected ppm or amounts, found " + key);
        }
      }
      if (limit == null) {
        throw new MessageException(place + ": expected ppm or amounts, found neither");
      }
      return limit;
    }

    private static TreeMap<String, Long> amounts(JsonCursor in,
        String place) throws MessageException {
      in.openObject(place);
      TreeMap<String, Long> amounts = new TreeMap<>();
      for (String key = in.key(); key != null; key = in.key()) {
        amounts.put(key, in.number(place + ": " + key));
      }
      return amounts;
    }
  }
}
