package org.loomcard.yarn.web;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import org.loomcard.yarn.config.AppliedConfig;

/** The applied configurations that are still kept, newest first; the first one is in force. */
final class PolicyHistory {
  private final List<AppliedConfig> kept;

  PolicyHistory(List<AppliedConfig> kept) {
    this.kept = kept;
  }

  /** Returns every version with who applied it when, and which one is in force. */
  JsonObject document() {
    JsonArray policies = new JsonArray();
    for (AppliedConfig each : kept) {
      JsonObject policy = new JsonObject();
      SchedulerDocument.addApplied(policy, each);
      policy.addProperty("applied_at_ms", each.atMs == 0 ? null : (Long) each.atMs);
      policy.addProperty("user", each.user);
      policy.addProperty("has_yaml", each.yaml != null);
      policy.addProperty("governs", each == kept.get(0));
      policies.add(policy);
    }
    JsonObject document = new JsonObject();
    document.add("policies", policies);
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
