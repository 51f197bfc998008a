package org.loomcard.yarn.web;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.loomcard.yarn.config.AppliedConfig;

/** The applied configurations that are still kept, newest first; the first one is in force. */
final class PolicyHistory {
  private static final ObjectMapper JSON = new ObjectMapper();
  private final List<AppliedConfig> kept;

  PolicyHistory(List<AppliedConfig> kept) {
    this.kept = kept;
  }

  /** Returns every version with who applied it when, and which one is in force. */
  ObjectNode document() {
    ObjectNode document = JSON.createObjectNode();
    ArrayNode policies = document.putArray("policies");
    for (AppliedConfig each : kept) {
      ObjectNode policy = policies.addObject();
      policy.setAll(SchedulerDocument.applied(each));
      if (each.atMs == 0) {
        policy.putNull("applied_at_ms");
      } else {
        policy.put("applied_at_ms", each.atMs);
      }
      policy.put("user", each.user).put("has_yaml", each.yaml != null)
          .put("governs", each == kept.get(0));
    }
    return document;
  }

  /**
   * Returns the past version of that number; for null, the one before the one in force. Returns
   * null if there is no such version.
   */
  AppliedConfig find(String version) {
    for (AppliedConfig each : kept.subList(Math.min(1, kept.size()), kept.size())) {
      if (version == null || version.equals(String.valueOf(each.version))) {
        return each;
      }
    }
    return null;
  }

  /** Returns why {@link #find} found none. */
  String whyNot(String version) {
    if (version == null) {
      return "There is no version before the one that governs.";
    }
    if (!kept.isEmpty() && version.equals(String.valueOf(kept.get(0).version))) {
      return "Version " + version + " governs already.";
    }
    return "Version " + version + " is not kept.";
  }

  /** Returns which versions can be rolled back to, as a hint. */
  String known() {
    List<String> versions = new ArrayList<>();
    for (AppliedConfig each : kept.subList(Math.min(1, kept.size()), kept.size())) {
      versions.add(String.valueOf(each.version));
    }
    return versions.isEmpty() ? "Apply a file instead." : "Kept are: " + String.join(", ", versions)
        + ".";
  }
}
