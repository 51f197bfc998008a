package org.loomcard.yarn.rehearsal;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.records.ApplicationStateData;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.loomcard.yarn.bridge.BridgeStatus;
import org.loomcard.yarn.json.JsonText;
import org.loomcard.yarn.status.StatusProvider;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The program that {@code loomcard install --rehearse} runs: starts a ResourceManager on a copy of
 * the state, waits until all that it recovers is settled, and writes {@code report.json}.
 */
public final class Rehearsal {
  private static final Logger LOG = LoggerFactory.getLogger(Rehearsal.class);
  private static final long PAUSE_MS = 20;
  private final Configuration conf;
  private final File scratch;
  private final long end;
  private final StringBuilder report = new StringBuilder("{");
  private RehearsedResourceManager rm;

  private Rehearsal(Configuration conf, File scratch, long deadlineMs) {
    this.conf = conf;
    this.scratch = scratch;
    this.end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(deadlineMs);
  }

  /**
   * Runs the rehearsal. The arguments are the folder to write to, which must contain nothing else,
   * and the time for the whole run in ms.
   */
  public static void main(String[] arguments) throws IOException {
    File scratch = new File(arguments[0]);
    Rehearsal one = new Rehearsal(new YarnConfiguration(), scratch, Long.parseLong(arguments[1]));
    one.run();
    Files.write(new File(scratch, "report.json").toPath(),
        one.report.append('}').toString().getBytes(StandardCharsets.UTF_8));
    Runtime.getRuntime().halt(0); // whatever threads are left: nothing is to be kept
  }

  private void run() {
    String step = "copy the state";
    try {
      say("scheduler", conf.get(YarnConfiguration.RM_SCHEDULER));
      UserGroupInformation.setConfiguration(conf);
      say("store", new StoreCopy(conf, scratch).make());
      RehearsalSettings.apply(conf, scratch);
      UserGroupInformation.reset();
      rm = new RehearsedResourceManager();
      step = "start";
      rm.init(conf);
      rm.start();
      step = "recover the applications";
      awaitSettled();
      sayApplications();
      step = "start the policy process";
      sayPolicy();
      rm.stop();
    } catch (Exception | LinkageError e) {
      LOG.error("The rehearsal failed", e);
      say("failed", step);
      say("why", reason(e));
    }
  }

  private static String reason(Throwable error) {
    Throwable first = error;
    while (first.getCause() != null) {
      first = first.getCause();
    }
    String text = first.getMessage() == null ? first.toString() : first.getMessage();
    return text.split("\n", 2)[0];
  }

  /** Waits until each application that had not ended is in the scheduler, or is ending. */
  private void awaitSettled() throws InterruptedException, IOException {
    for (Map.Entry<ApplicationId, ApplicationStateData> each : rm.stored().entrySet()) {
      while (each.getValue().getState() == null && !isSettled(each.getKey())) {
        pause(each.getKey() + " is neither recovered nor ended");
      }
    }
  }

  private boolean isSettled(ApplicationId id) {
    RMApp app = app(id);
    return app == null || isEnding(app)
        || ((AbstractYarnScheduler<?, ?>) rm.getResourceScheduler()).getSchedulerApplications()
            .containsKey(id);
  }

  private RMApp app(ApplicationId id) {
    return rm.getRMContext().getRMApps().get(id);
  }

  private static boolean isEnding(RMApp app) {
    RMAppState state = app.getState();
    return state == RMAppState.KILLED || state == RMAppState.FAILED || state == RMAppState.FINISHED;
  }

  private void pause(String missing) throws InterruptedException, IOException {
    if (System.nanoTime() > end) {
      throw new IOException("the time is over: " + missing);
    }
    Thread.sleep(PAUSE_MS);
  }

  private void sayApplications() {
    int ended = 0;
    report.append(",\"applications\":[");
    String comma = "";
    for (Map.Entry<ApplicationId, ApplicationStateData> each : rm.stored().entrySet()) {
      if (each.getValue().getState() != null) {
        ended++;
        continue;
      }
      RMApp app = app(each.getKey());
      report.append(comma).append('{');
      comma = ",";
      text("id", each.getKey().toString());
      report.append(',');
      text("user", each.getValue().getUser());
      report.append(',');
      text("queue", each.getValue().getApplicationSubmissionContext().getQueue());
      report.append(',');
      text("state", app == null ? "LOST" : app.getState().toString());
      report.append(',');
      text("why", app == null ? "the ResourceManager does not know it"
          : app.getDiagnostics().toString().trim());
      report.append('}');
    }
    report.append("],\"ended\":").append(ended);
  }

  private void sayPolicy() throws InterruptedException, IOException {
    if (!(rm.getResourceScheduler() instanceof StatusProvider)) {
      return;
    }
    StatusProvider scheduler = (StatusProvider) rm.getResourceScheduler();
    BridgeStatus status = scheduler.status().bridge();
    while (status.state != BridgeStatus.State.UP) {
      pause("the policy process is " + status.state.toString().toLowerCase(java.util.Locale.ROOT)
          + (status.lastFailure.isEmpty() ? "" : ": " + status.lastFailure));
      status = scheduler.status().bridge();
    }
    say("policy", status.applied.toString());
    report.append(",\"queues\":[");
    String comma = "";
    for (String queue : scheduler.status().queues().keySet()) {
      JsonText.quote(report.append(comma), queue);
      comma = ",";
    }
    report.append(']');
  }

  private void say(String key, String value) {
    if (report.length() > 1) {
      report.append(',');
    }
    text(key, value);
  }

  private void text(String key, String value) {
    JsonText.quote(report, key).append(':');
    JsonText.quote(report, value == null ? "" : value);
  }
}
