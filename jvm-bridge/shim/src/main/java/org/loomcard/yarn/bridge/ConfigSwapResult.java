package org.loomcard.yarn.bridge;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.ConfigRefusedException;

/** How a swap ended. Unless it was applied, the old policy configuration stays in force. */
public final class ConfigSwapResult {
  /** The kinds of end. */
  public enum Outcome {
    /** The new policy configuration is in force. */
    APPLIED,
    /**
     * A dry run found no problem; version and hash are those that an apply would put into force.
     */
    WOULD_APPLY,
    /** The YAML has errors; see {@link ConfigSwapResult#findings}. */
    FINDINGS,
    /** Queues with live applications would vanish; see {@link ConfigSwapResult#applications}. */
    REFUSED,
    /** The policy process is not running, or was not free in time. */
    UNAVAILABLE,
    /** Something else went wrong; the message says what. */
    FAILED
  }

  /** One thing wrong in a YAML text. */
  public static final class Finding {
    public final int line;
    public final int column;
    public final String path;
    public final String message;
    public final String hint;

    public Finding(int line, int column, String path, String message, String hint) {
      this.line = line;
      this.column = column;
      this.path = path;
      this.message = message;
      this.hint = hint;
    }

    @Override
    public String toString() {
      return line + ":" + column + ": " + path + ": " + message + (hint.isEmpty() ? "" : " ("
          + hint + ")");
    }
  }

  public final Outcome outcome;
  /** One sentence for people. */
  public final String message;
  /**
   * The version and hash in force now: after a swap that was not applied, the old ones. 0 and empty
   * when no configuration is in force yet.
   */
  public final int version;
  public final String hash;
  public final List<Finding> findings;
  /** Ids of the applications that prevent it. */
  public final List<String> applications;

  private ConfigSwapResult(Outcome outcome, String message, AppliedConfig governing,
      List<Finding> findings, List<String> applications) {
    this.outcome = outcome;
    this.message = message;
    this.version = governing == null ? 0 : governing.version;
    this.hash = governing == null ? "" : governing.policyConfig.hash;
    this.findings = Collections.unmodifiableList(new ArrayList<>(findings));
    this.applications = Collections.unmodifiableList(new ArrayList<>(applications));
  }

  public boolean isApplied() {
    return outcome == Outcome.APPLIED;
  }

  public static ConfigSwapResult applied(AppliedConfig governing) {
    return plain(Outcome.APPLIED, "applied " + governing, governing);
  }

  public static ConfigSwapResult findings(List<Finding> findings, AppliedConfig governing) {
    return new ConfigSwapResult(Outcome.FINDINGS, findings.size() + " error(s) in the policy file",
        governing, findings, Collections.<String>emptyList());
  }

  public static ConfigSwapResult refused(ConfigRefusedException e, AppliedConfig governing) {
    return new ConfigSwapResult(Outcome.REFUSED, e.getMessage(), governing,
        Collections.<Finding>emptyList(), e.applications());
  }

  public static ConfigSwapResult plain(Outcome outcome, String message, AppliedConfig governing) {
    return new ConfigSwapResult(outcome, message, governing, Collections.<Finding>emptyList(),
        Collections.<String>emptyList());
  }

  @Override
  public String toString() {
    return outcome + ": " + message + (findings.isEmpty() ? "" : " " + findings);
  }
}
