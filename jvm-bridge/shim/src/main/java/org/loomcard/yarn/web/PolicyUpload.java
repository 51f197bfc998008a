package org.loomcard.yarn.web;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger;
import org.apache.http.NameValuePair;
import org.loomcard.yarn.bridge.ConfigSwapResult;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.status.StatusSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handles one call that applies a policy: who may, what was received, and the result, each as a
 * status and a document.
 */
final class PolicyUpload {
  /** A longer YAML text is not a policy. */
  static final int LONGEST = 1 << 20;
  /**
   * How many calls are handled at a time: the rest of the web side must continue while bodies
   * arrive slowly.
   */
  static final int MOST = 8;
  private static final int LONGEST_NAME = 255;
  private static final int LONGEST_LOGGED = 1000;
  private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{Cntrl}\\u2028\\u2029]");
  private static final Logger LOG = LoggerFactory.getLogger(PolicyUpload.class);
  private static final String APPLY = "Apply Policy Configuration";
  private static final String ROLL_BACK = "Roll Back Policy Configuration";
  private static final String AUDITED = "LoomcardScheduler";
  private static final int OK = 200;
  private static final int BAD = 400;
  private static final int FORBIDDEN = 403;
  private static final int NOT_FOUND = 404;
  private static final int CONFLICT = 409;
  private static final int TOO_LONG = 413;
  private static final int FAILED = 500;
  private static final int UNAVAILABLE = 503;

  private static final Semaphore PLACES = new Semaphore(MOST);
  private final Configuration conf;
  private final StatusSource source;

  PolicyUpload(Configuration conf, StatusSource source) {
    this.conf = conf;
    this.source = source;
  }

  /**
   * Applies a policy, or tries it.
   *
   * @param name the file's name
   * @param dryRun {@code true}: only return the result that an apply would have; {@code false}:
   *     apply it
   * @param body YAML in UTF-8
   */
  Reply put(Caller caller, String name, String dryRun, InputStream body) throws IOException {
    if (!PLACES.tryAcquire()) {
      return new Reply(UNAVAILABLE, problem(MOST + " policies are being sent already.",
          "Try again when one of them is over."));
    }
    try {
      return take(caller, name, dryRun, body);
    } finally {
      PLACES.release();
    }
  }

  private Reply take(Caller caller, String name, String dryRun, InputStream body)
      throws IOException {
    PolicyAdministrators.Denial denial = PolicyAdministrators.denial(conf, source.token(), caller);
    if (denial != null) {
      LOG.warn("A policy of {} was not applied: {}", printable(caller.user),
          printable(denial.message));
      RMAuditLogger.logFailure(printable(caller.user), APPLY, "", AUDITED,
          printable(denial.message));
      return new Reply(FORBIDDEN, problem(denial.message, denial.hint));
    }
    if (name.isEmpty() || name.length() > LONGEST_NAME || !printable(name).equals(name)) {
      return new Reply(BAD, problem("The name of the file is empty, longer than " + LONGEST_NAME
          + " characters, or holds one that cannot be printed.", "Give it as name=policy.yml."));
    }
    if (!dryRun.equals("true") && !dryRun.equals("false")) {
      return new Reply(BAD, problem("dry_run is neither true nor false, is misspelt,"
          + " or stands there twice.", "With dry_run=true nothing is changed."));
    }
    byte[] bytes = read(body);
    if (bytes.length > LONGEST) {
      return new Reply(TOO_LONG, problem("The body is longer than " + LONGEST + " bytes.",
          "Send the YAML file of one policy."));
    }
    String yaml;
    try {
      yaml = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      return new Reply(BAD, problem("The body is no UTF-8 text.", "Save the YAML file as UTF-8."));
    }
    if (yaml.trim().isEmpty()) {
      return new Reply(BAD, problem("The body is empty.",
          "Send the YAML text of the policy as the body."));
    }
    if (dryRun.equals("true")) {
      return tried(source.dryRun(yaml, name), name);
    }
    ConfigSwapResult answer = source.apply(yaml, name, caller.user);
    LOG.info("Policy {} of {}: {} ({})", name, printable(caller.user), answer.outcome,
        printable(answer.message));
    audit(caller, APPLY, answer);
    return reply(answer);
  }

  /**
   * Returns the value of {@code dry_run} in a query. If it is misspelt or repeated, {@link #put}
   * does not accept the value: a caller who meant to try must not apply.
   */
  static String dryRun(List<NameValuePair> query) {
    List<String> said = new ArrayList<>();
    for (NameValuePair each : query) {
      if (each.getName().equals("dry_run")) {
        said.add(String.valueOf(each.getValue()));
      } else if (each.getName().replaceAll("[^A-Za-z]", "").equalsIgnoreCase("dryrun")) {
        said.add(each.getName());
      }
    }
    return said.isEmpty() ? "false" : String.join(",", said);
  }

  /**
   * Applies the YAML text of an earlier version as a new one.
   *
   * @param version the requested version, null for the one before the one in force
   */
  Reply rollback(Caller caller, String version) {
    PolicyAdministrators.Denial denial = PolicyAdministrators.denial(conf, source.token(), caller);
    if (denial != null) {
      return new Reply(FORBIDDEN, problem(denial.message, denial.hint));
    }
    PolicyHistory history = new PolicyHistory(source.history());
    AppliedConfig target = history.find(version);
    if (target == null) {
      return new Reply(NOT_FOUND, problem(history.whyNot(version), history.known()));
    }
    if (target.yaml == null) {
      return new Reply(CONFLICT, problem("Of version " + target.version
          + " no YAML text is kept: the cluster started with its compiled form.",
          "Apply its file instead."));
    }
    ConfigSwapResult answer = source.apply(target.yaml, target.policyConfig.source, caller.user);
    LOG.info("Policy version {} again, for {}: {} ({})", target.version,
        printable(caller.user), answer.outcome, printable(answer.message));
    audit(caller, ROLL_BACK, answer);
    return reply(answer);
  }

  /** Writes one line for a change of the configuration, done or not, to YARN's audit log. */
  private static void audit(Caller caller, String operation, ConfigSwapResult answer) {
    if (answer.outcome == ConfigSwapResult.Outcome.APPLIED) {
      RMAuditLogger.logSuccess(printable(caller.user), operation,
          AUDITED + " version " + answer.version + " hash " + answer.hash);
    } else {
      RMAuditLogger.logFailure(printable(caller.user), operation, "", AUDITED,
          printable(answer.message));
    }
  }

  /**
   * Returns a caller's text in a form that is safe in a line of the log: without characters that
   * end a line.
   */
  static String printable(String text) {
    String known = String.valueOf(text);
    return UNPRINTABLE.matcher(known.substring(0, Math.min(known.length(), LONGEST_LOGGED)))
        .replaceAll("?");
  }

  private Reply tried(ConfigSwapResult answer, String name) {
    if (answer.outcome != ConfigSwapResult.Outcome.WOULD_APPLY) {
      return reply(answer);
    }
    JsonObject document = new JsonObject();
    document.addProperty("message", answer.message);
    document.addProperty("dry_run", true);
    document.addProperty("version", answer.version);
    document.addProperty("hash", answer.hash);
    document.addProperty("source", name);
    return new Reply(OK, document);
  }

  private Reply reply(ConfigSwapResult answer) {
    switch (answer.outcome) {
      case APPLIED:
        JsonObject applied = new JsonObject();
        applied.addProperty("message", answer.message);
        SchedulerDocument.addApplied(applied, source.bridge().applied);
        return new Reply(OK, applied);
      case FINDINGS:
        return new Reply(BAD, withFindings(answer));
      case REFUSED:
        JsonObject inUse = problem(answer.message,
            "Keep these queues, or let their applications end or move first.");
        JsonArray applications = new JsonArray();
        for (String application : answer.applications) {
          applications.add(new JsonPrimitive(application));
        }
        inUse.add("applications", applications);
        return new Reply(CONFLICT, inUse);
      case UNAVAILABLE:
        return new Reply(UNAVAILABLE, problem(answer.message,
            "The policy before stays in force; try again once bridge.state of"
            + " /ws/v1/cluster/scheduler is \"up\"."));
      default:
        return new Reply(FAILED, problem(answer.message,
            "The policy before stays in force; the ResourceManager's log says more."));
    }
  }

  private static JsonObject withFindings(ConfigSwapResult answer) {
    JsonArray findings = new JsonArray();
    for (ConfigSwapResult.Finding finding : answer.findings) {
      JsonObject shown = new JsonObject();
      shown.addProperty("line", finding.line);
      shown.addProperty("column", finding.column);
      shown.addProperty("path", finding.path);
      shown.addProperty("message", finding.message);
      shown.addProperty("hint", finding.hint);
      findings.add(shown);
    }
    JsonObject document = problem(answer.message,
        "Mend what the findings name; the policy before stays in force.");
    document.add("findings", findings);
    return document;
  }

  /** Returns the document of a refusal. */
  static JsonObject problem(String message, String hint) {
    JsonObject document = new JsonObject();
    document.addProperty("message", message);
    document.addProperty("hint", hint);
    return document;
  }

  /**
   * Reads at most one byte more than allowed: then a longer body is detected, and never kept whole.
   */
  private static byte[] read(InputStream body) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    byte[] buffer = new byte[8192];
    int count = body == null ? -1 : body.read(buffer);
    while (count >= 0 && bytes.size() <= LONGEST) {
      bytes.write(buffer, 0, Math.min(count, LONGEST + 1 - bytes.size()));
      count = body.read(buffer);
    }
    return bytes.toByteArray();
  }

  /** A status and a document. */
  static final class Reply {
    final int status;
    final JsonObject document;

    private Reply(int status, JsonObject document) {
      this.status = status;
      this.document = document;
    }
  }
}
