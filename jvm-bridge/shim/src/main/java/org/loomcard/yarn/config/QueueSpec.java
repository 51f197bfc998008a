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
  private static final int WHOLE = 1_000_000;
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
  /** How many applications may have an AM here and below; {@link #NONE}: no limit. */
  public final int maximumRunningApplications;
  /** How many of one user, by user; {@code *} is for all others. */
  public final Map<String, Long> maximumRunningApplicationsPerUser;
  /** The priority of an application that asks for none. */
  public final int defaultPriority;
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
  /** Whether it was created for an application, and is in no YAML. */
  public final boolean created;
  /** What may be created below it; null for nothing. */
  public final AutoCreate autoCreate;
  /** The JSON texts of its keys. */
  final Map<String, String> texts;

  /** Reads one queue; the keys come in any order. */
  QueueSpec(int index, Map<String, String> texts) throws MessageException {
    this.texts = Collections.unmodifiableMap(texts);
    Row row = new Row("config: queues[" + index + "]: ", texts);
    this.index = index;
    path = row.get("path", null, JsonCursor::string);
    parent = row.get("parent", (long) NONE, QueueSpec::parent).intValue();
    leaf = row.get("leaf", false, JsonCursor::bool);
    policy = row.get("policy", null, JsonCursor::stringOrNull);
    row.get("policy_named", false, JsonCursor::bool); // for the page, which reads the JSON
    walked = row.get("walked", false, JsonCursor::bool);
    options = row.get("options", "{}", (value, place) -> value.raw());
    weight = row.get("weight", 1.0, JsonCursor::decimal);
    guaranteed = row.get("guaranteed", Limit.ofShare(0), QueueSpec::limit);
    maximum = row.get("maximum", Limit.ofShare(WHOLE), QueueSpec::limit);
    userLimitPpm = row.get("user_limit_ppm", WHOLE, JsonCursor::integer);
    amSharePpm = row.get("am_share_ppm", WHOLE, JsonCursor::integer);
    int heldPpm = row.get("hold_share_ppm", 100_000, JsonCursor::integer); // of the version before
    reservationSharePpm = row.get("reservation_share_ppm", heldPpm, JsonCursor::integer);
    int heldNodes = row.get("hold_nodes", 1, JsonCursor::integer); // likewise, in a store
    reservationNodes = row.get("reservation_nodes", heldNodes, JsonCursor::integer);
    submit = row.get("submit", Collections.emptyList(), QueueSpec::names);
    administer = row.get("administer", Collections.emptyList(), QueueSpec::names);
    state = row.get("state", "running", JsonCursor::string);
    maximumApplications = row.get("maximum_applications", NONE, JsonCursor::integer);
    maximumApplicationsPerUser =
        row.get("maximum_applications_per_user", NONE, JsonCursor::integer);
    maximumRunningApplications =
        row.get("maximum_running_applications", NONE, JsonCursor::integer);
    maximumRunningApplicationsPerUser = row.get("maximum_running_applications_per_user",
        Collections.emptyMap(), QueueSpec::counts);
    defaultPriority = row.get("default_priority", 0, JsonCursor::integer);
    maximumAllocation = row.get("maximum_allocation", Collections.emptyMap(), QueueSpec::amounts);
    maximumLifetimeS = row.get("maximum_lifetime_s", NONE, JsonCursor::integer);
    defaultLifetimeS = row.get("default_lifetime_s", NONE, JsonCursor::integer);
    labels = row.get("labels", null, QueueSpec::names);
    defaultLabel = row.get("default_label", "", JsonCursor::string);
    labelMaximumPpm = row.get("label_maximum_ppm", Collections.emptyMap(), QueueSpec::amounts);
    labelGuaranteedPpm =
        row.get("label_guaranteed_ppm", Collections.emptyMap(), QueueSpec::amounts);
    created = row.get("created", false, JsonCursor::bool);
    autoCreate = row.get("auto_create", null, AutoCreate::read);
    row.end();
    if (path == null || parent >= index || (index > 0) != (parent >= 0)) {
      throw new MessageException("config: queues[" + index
          + "]: needs a path and a parent that stands before it");
    }
  }

  /** The last part of the path. */
  public String name() {
    return path.substring(path.lastIndexOf('.') + 1);
  }

  @Override
  public String toString() {
    return path;
  }

  private static Long parent(JsonCursor in, String place) throws MessageException {
    Long number = in.numberOrNull(place);
    return number == null ? NONE : number;
  }

  private static List<String> names(JsonCursor in, String place) throws MessageException {
    return Collections.unmodifiableList(in.strings(place));
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

  private static Map<String, Long> counts(JsonCursor in, String place) throws MessageException {
    in.openObject(place);
    Map<String, Long> counts = new TreeMap<>();
    for (String key = in.key(); key != null; key = in.key()) {
      Long count = in.numberOrNull(place + ": " + key);
      counts.put(key, count == null ? Long.MAX_VALUE : count);
    }
    return Collections.unmodifiableMap(counts);
  }

  /** How many applications of a user may have an AM here and below. */
  public long maximumRunningApplicationsOf(String user) {
    Map<String, Long> stated = maximumRunningApplicationsPerUser;
    return stated.getOrDefault(user, stated.getOrDefault("*", Long.MAX_VALUE));
  }

  private static Map<String, Long> amounts(JsonCursor in, String place) throws MessageException {
    in.openObject(place);
    Map<String, Long> amounts = new TreeMap<>();
    for (String key = in.key(); key != null; key = in.key()) {
      amounts.put(key, in.number(place + ": " + key));
    }
    return Collections.unmodifiableMap(amounts);
  }

  /** The values of one queue as texts, by key. */
  private static final class Row {
    private final String place;
    private final Map<String, String> values;

    Row(String place, Map<String, String> texts) {
      this.place = place;
      this.values = new TreeMap<>(texts);
    }

    /** Reads and removes the value of {@code key}; returns {@code absent} if there is none. */
    <T> T get(String key, T absent, Reader<T> reader) throws MessageException {
      String value = values.remove(key);
      return value == null ? absent : reader.read(new JsonCursor(value), place + key);
    }

    /** Refuses a key that was not read. */
    void end() throws MessageException {
      if (!values.isEmpty()) {
        throw new MessageException(place + values.keySet().iterator().next()
            + ": unknown key; this shim reads policy configurations of schema "
            + PolicyConfig.SCHEMA);
      }
    }
  }

  /** Reads a value; {@code place} is for its error. */
  private interface Reader<T> {
    T read(JsonCursor in, String place) throws MessageException;
  }
}
