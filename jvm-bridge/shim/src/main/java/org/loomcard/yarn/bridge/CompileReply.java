package org.loomcard.yarn.bridge;

import java.util.ArrayList;
import java.util.List;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.JsonText;
import org.loomcard.yarn.json.MessageException;

/**
 * The reply to {@code compile}: a policy configuration, or what is wrong with the YAML, or an error
 * of the process.
 */
public final class CompileReply {
  /** Null unless it compiled. */
  public final PolicyConfig policyConfig;
  /** Empty unless the YAML has errors. */
  public final List<ConfigSwapResult.Finding> findings;
  /** Null unless the process could not answer. */
  final String error;

  private CompileReply(PolicyConfig policyConfig, List<ConfigSwapResult.Finding> findings,
      String error) {
    this.policyConfig = policyConfig;
    this.findings = findings;
    this.error = error;
  }

  /** Returns the request. */
  public static String request(String yaml, String name) {
    StringBuilder out = new StringBuilder("[\"compile\",");
    JsonText.quote(out, yaml).append(',');
    return JsonText.quote(out, name).append(']').toString();
  }

  public static CompileReply read(String reply) throws MessageException {
    JsonCursor in = new JsonCursor(reply);
    in.open("reply to compile");
    String tag = in.string("reply to compile: tag");
    List<ConfigSwapResult.Finding> findings = new ArrayList<>();
    PolicyConfig policyConfig = null;
    String error = null;
    switch (tag) {
      case "compiled": policyConfig = PolicyConfig.read(in.raw()); break;
      case "findings": readFindings(in, findings); break;
      case "error": error = in.string("error"); break;
      default: throw new MessageException("reply to compile: unknown tag " + tag);
    }
    in.close("reply to compile");
    in.end();
    return new CompileReply(policyConfig, findings, error);
  }

  private static void readFindings(JsonCursor in, List<ConfigSwapResult.Finding> findings)
      throws MessageException {
    in.open("findings");
    while (in.element("findings: finding")) {
      findings.add(new ConfigSwapResult.Finding(in.integer("finding: line"),
          in.integer("finding: column"),
          in.string("finding: path"), in.string("finding: message"), in.string("finding: hint")));
      in.close("finding");
    }
  }
}
