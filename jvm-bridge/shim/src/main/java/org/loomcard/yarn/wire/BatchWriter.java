package org.loomcard.yarn.wire;

import java.util.Collection;
import java.util.Map;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.json.JsonText;

/**
 * One batch as it grows: a method per record of docs/reference/wire.md, in the order of the call.
 * Text is built directly, since a batch of thousands of records is written for every round. Not
 * thread-safe; belongs to the round thread.
 */
public final class BatchWriter {
  private final long round;
  private final long firstSequence;
  private final long nowMs;
  private final StringBuilder out;
  private String check = "[0,0,0,0,[]]";
  private int count;

  public BatchWriter(long round, long firstSequence, long nowMs) {
    this.round = round;
    this.firstSequence = firstSequence;
    this.nowMs = nowMs;
    this.out = new StringBuilder(4096);
  }

  /** The time of the batch, for records that are read when it is closed. */
  public long nowMs() {
    return nowMs;
  }

  /** Records written so far. */
  public int count() {
    return count;
  }

  /**
   * States totals after all records: how many nodes, applications and containers are live, how many
   * containers are outstanding, and what is free on all nodes together.
   */
  public void check(long nodes, long applications, long containers, long pending, long[] free) {
    StringBuilder text = new StringBuilder().append('[').append(nodes).append(',')
        .append(applications).append(',').append(containers).append(',').append(pending);
    integers(text, free);
    check = text.append(']').toString();
  }

  /** The whole message. */
  public String finish() {
    String head = "[\"batch\"," + round + "," + firstSequence + "," + nowMs + "," + check + ",[";
    return new StringBuilder(head.length() + out.length()
        + 2).append(head).append(out).append("]]").toString();
  }

  /**
   * What became of plan {@code planRound}.
   *
   * @param numbers the YARN numbers of the containers allocated, in the order of decisions
   * @param refusals of decision {@code index}, {@code count} were refused for {@code reason}
   */
  public void outcomes(long at, long planRound, long firstContainer, long[] numbers,
      Collection<Refusal> refusals) {
    open("outcomes", at).append(',').append(planRound).append(',').append(firstContainer);
    integers(numbers);
    out.append(",[");
    String comma = "";
    for (Refusal refusal : refusals) {
      out.append(comma).append('[').append(refusal.index).append(',')
          .append(refusal.count).append(',');
      JsonText.quote(out, refusal.reason).append(']');
      comma = ",";
    }
    out.append("]]");
  }

  public void snapshot(long at, String reason) {
    open("snapshot", at);
    string(reason).append(']');
  }

  public void config(long at, int version, PolicyConfig policyConfig) {
    open("config", at).append(',').append(version).append(',').append(policyConfig.json)
        .append(']');
  }

  /** @param saved JSON texts by {@code path:policy} */
  public void saved(long at, Map<String, String> saved) {
    open("saved", at).append(",{");
    String comma = "";
    for (Map.Entry<String, String> entry : saved.entrySet()) {
      JsonText.quote(out.append(comma), entry.getKey()).append(':').append(entry.getValue());
      comma = ",";
    }
    out.append("}]");
  }

  /** @param read whether somebody reads policies' reports from here on */
  public void reportsRead(long at, boolean read) {
    open("reports_read", at).append(',').append(read).append(']');
  }

  /**
   * @param name what asks and blacklists call the node: its host, or host and port
   * @param shared whether its partition lends idle room
   */
  public void nodeAdded(long at, int node, String id, String rack, long[] capacity, String label,
      String name, boolean shared) {
    open("node_added", at).append(',').append(node);
    string(id);
    string(rack);
    integers(capacity);
    string(label);
    string(name).append(',').append(shared).append(']');
  }

  /** @param reason {@code lost}, {@code removed} or {@code decommissioned} */
  public void nodeRemoved(long at, int node, String reason) {
    open("node_removed", at).append(',').append(node);
    string(reason).append(']');
  }

  public void nodeResized(long at, int node, long[] capacity) {
    open("node_resized", at).append(',').append(node);
    integers(capacity);
    out.append(']');
  }

  public void nodeRelabelled(long at, int node, String label, boolean shared) {
    open("node_relabelled", at).append(',').append(node);
    string(label).append(',').append(shared).append(']');
  }

  public void nodeHeartbeat(long at, int node) {
    open("node_heartbeat", at).append(',').append(node).append(']');
  }

  public void applicationAdded(long at, int application, ApplicationRecord text) {
    open("application_added", at).append(',').append(application);
    string(text.id).append(',').append(text.queue);
    string(text.user);
    string(text.name);
    string(text.type);
    JsonText.quoteAll(out.append(','), text.tags);
    out.append(',').append(text.priority).append(',').append(text.submittedMs);
    out.append(",{");
    String comma = "";
    for (Map.Entry<String, String> hint : text.hints.entrySet()) {
      JsonText.quote(out.append(comma), hint.getKey()).append(':');
      JsonText.quote(out, hint.getValue());
      comma = ",";
    }
    out.append("}]");
  }

  public void applicationChanged(long at, int application, int queue, int priority) {
    open("application_changed", at).append(',').append(application).append(',').append(queue)
        .append(',').append(priority).append(']');
  }

  public void applicationRemoved(long at, int application, String state) {
    open("application_removed", at).append(',').append(application);
    string(state).append(']');
  }

  /** @param number as in the attempt id, from 1 */
  public void attemptAdded(long at, int attempt, int application, int number, boolean unmanaged) {
    open("attempt_added",
        at).append(',').append(attempt).append(',').append(application).append(',').append(number)
        .append(',').append(unmanaged).append(']');
  }

  public void attemptRegistered(long at, int attempt) {
    open("attempt_registered", at).append(',').append(attempt).append(']');
  }

  public void attemptRemoved(long at, int attempt, String state) {
    open("attempt_removed", at).append(',').append(attempt);
    string(state).append(']');
  }

  public void ask(long at, AskRecord ask) {
    open("ask", at).append(',').append(ask.attempt).append(',').append(ask.priority).append(',')
        .append(ask.allocationRequestId).append(',').append(ask.isAm);
    integers(ask.size);
    out.append(',').append(ask.count);
    counts(ask.hosts);
    counts(ask.racks);
    out.append(',').append(ask.relaxLocality);
    string(ask.label);
    JsonText.quoteAll(out.append(','), ask.strictRacks).append(']');
  }

  public void blacklist(long at, int attempt, Collection<String> names) {
    open("blacklist", at).append(',').append(attempt);
    JsonText.quoteAll(out.append(','), names).append(']');
  }

  /** The whole list of reservations. */
  public void reservations(long at, Collection<ReservationRecord> reservations) {
    open("reservations", at).append(",[");
    String comma = "";
    for (ReservationRecord each : reservations) {
      out.append(comma).append('[').append(each.attempt).append(',').append(each.priority)
          .append(',').append(each.allocationRequestId).append(',').append(each.node).append(',')
          .append(each.untilMs).append(',').append(each.sinceMs).append(',').append(each.placedMs)
          .append(']');
      comma = ",";
    }
    out.append("]]");
  }

  public void containerAdded(long at, ContainerRecord container) {
    open("container_added",
        at).append(',').append(container.container).append(',').append(container.attempt)
        .append(',').append(container.number).append(',').append(container.node);
    integers(container.size);
    out.append(',').append(container.priority).append(',')
        .append(container.allocationRequestId).append(',').append(container.isAm);
    string(container.state());
    string(container.origin).append(',').append(container.allocatedMs).append(',')
        .append(container.startedMs).append(',').append(container.preemptingSince);
    string(container.label).append(']');
  }

  public void containerStarted(long at, long container) {
    open("container_started", at).append(',').append(container).append(']');
  }

  public void containerResized(long at, long container, long[] size) {
    open("container_resized", at).append(',').append(container);
    integers(size);
    out.append(']');
  }

  /**
   * @param kind {@code completed}, {@code killed}, {@code released}, {@code expired}, {@code lost},
   * {@code preempted}
   * @param launchedMs the estimate of its launch; null when it is not known to have run
   * @param endedMs the estimate of its end
   */
  public void containerCompleted(long at, long container, String kind, int exitStatus,
      Long launchedMs, long endedMs) {
    open("container_completed", at).append(',').append(container);
    string(kind).append(',').append(exitStatus).append(',').append(launchedMs).append(',')
        .append(endedMs).append(']');
  }

  public void timer(long at, int instance) {
    open("timer", at).append(',').append(instance).append(']');
  }

  private StringBuilder open(String tag, long at) {
    if (count++ > 0) {
      out.append(',');
    }
    return out.append("[\"").append(tag).append("\",").append(at);
  }

  private StringBuilder string(String text) {
    return JsonText.quote(out.append(','), text == null ? "" : text);
  }

  private void integers(long[] values) {
    integers(out, values);
  }

  private static void integers(StringBuilder text, long[] values) {
    text.append(",[");
    for (int i = 0; i < values.length; i++) {
      if (i > 0) {
        text.append(',');
      }
      text.append(values[i]);
    }
    text.append(']');
  }

  private void counts(Map<String, Integer> values) {
    out.append(",{");
    String comma = "";
    for (Map.Entry<String, Integer> entry : values.entrySet()) {
      JsonText.quote(out.append(comma),
          entry.getKey()).append(':').append(entry.getValue().intValue());
      comma = ",";
    }
    out.append('}');
  }
}
