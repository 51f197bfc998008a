package org.loomcard.yarn.web;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.loomcard.yarn.bridge.BridgeStatus;
import org.loomcard.yarn.rounds.QueueStall;
import org.loomcard.yarn.status.ExplanationStatus;
import org.loomcard.yarn.status.StatusSource;

/** Why an application or a queue waits, as {@code GET .../loomcard/explain} answers it. */
final class ExplanationDocument {
  private static final String FALLBACK = "FALLBACK";
  private static final String STALLED = "STALLED";
  private static final String NOT_KNOWN = "NOT_WAITING";
  /** The codes of lack of room, to which nodes that take nothing are the other half. */
  private static final List<String> ROOM =
      Arrays.asList("NODE_FULL", "NO_NODE", "TOO_LARGE", "LOCALITY", "LABEL");

  private ExplanationDocument() {
  }

  /** Returns the document; null if there is no such application or queue. */
  static JsonObject of(StatusSource source, String kind, String name) {
    ExplanationStatus found = source.explain(kind, name);
    if (found == null) {
      return null;
    }
    BridgeStatus bridge = source.bridge();
    JsonElement said = found.document == null ? null : new JsonParser().parse(found.document);
    JsonObject document = said != null && said.isJsonObject() ? said.getAsJsonObject()
        : unknown(bridge, kind, name, found);
    if (found.state != null) {
      document.addProperty("state", found.state);
      document.addProperty("diagnostics", found.diagnostics);
    }
    JsonArray nodes = new JsonArray();
    found.unusableNodes.forEach(node -> nodes.add(new JsonPrimitive(node)));
    document.add("unusable_nodes", nodes);
    if (nodes.size() > 0 && ROOM.contains(document.get("code").getAsString())) {
      append(document, "Unusable: " + String.join("; ", found.unusableNodes));
    }
    addStall(document, bridge);
    JsonObject serving = new JsonObject();
    serving.addProperty("state", bridge.state.name().toLowerCase(Locale.ROOT));
    serving.addProperty("since_ms", source.startedAtMs() + bridge.sinceMs);
    serving.addProperty("last_failure", bridge.lastFailure.isEmpty() ? null
        : bridge.lastFailure.split("\n", 2)[0]);
    document.add("bridge", serving);
    return document;
  }

  private static JsonObject unknown(BridgeStatus bridge, String kind, String name,
      ExplanationStatus found) {
    JsonObject document = new JsonObject();
    document.addProperty(kind, name);
    String without = withoutPolicy(bridge);
    if (without != null) {
      document.addProperty("code", FALLBACK);
      document.addProperty("sentence", without);
    } else {
      document.addProperty("code", NOT_KNOWN);
      document.addProperty("sentence", "The scheduler has no such application now; its state is "
          + found.state + (found.diagnostics == null || found.diagnostics.isEmpty() ? ""
          : ": " + found.diagnostics));
    }
    return document;
  }

  /** Returns why no policy process schedules; null if one does. */
  static String withoutPolicy(BridgeStatus bridge) {
    if (bridge.state == BridgeStatus.State.UP || bridge.state == BridgeStatus.State.STALLED) {
      return null;
    }
    return "The policy process does not schedule (" + bridge.state.name().toLowerCase(Locale.ROOT)
        + "): the FIFO in Java serves all queues in order of submission"
        + (bridge.lastFailure.isEmpty() ? "" : "; " + bridge.lastFailure.split("\n", 2)[0]);
  }

  private static void addStall(JsonObject document, BridgeStatus bridge) {
    JsonElement queue = document.get("queue");
    for (QueueStall stall : bridge.stalls) {
      if (queue != null && stall.queue.equals(queue.getAsString())) {
        document.addProperty("stalled", stall.message);
        append(document, STALLED + ": the FIFO serves this queue: " + stall.message);
      }
    }
  }

  private static void append(JsonObject document, String more) {
    document.addProperty("sentence", document.get("sentence").getAsString() + ". " + more);
  }
}
