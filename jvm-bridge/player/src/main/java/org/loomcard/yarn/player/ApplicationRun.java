package org.loomcard.yarn.player;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.lang.reflect.UndeclaredThrowableException;
import java.security.PrivilegedExceptionAction;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.security.AMRMTokenIdentifier;
import org.loomcard.yarn.player.context.PlayerContext;
import org.loomcard.yarn.player.context.PlayerLog;
import org.loomcard.yarn.player.context.Scenario;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One application from its submission to its end.
 *
 * <p>Without an AM container its attempt is an unmanaged one. With one, the ResourceManager
 * launches a held container for it, which gives its tokens to the player. The attempt, its tokens
 * and its container are real; only the program that acts for it runs here.
 */
final class ApplicationRun {
  private static final Logger LOG = LoggerFactory.getLogger(ApplicationRun.class);
  private static final long LOOK_MS = 10;
  private static final long LOOK_AT_MASTER_MS = 1000;

  private final Scenario.Application application;
  private final Map<String, String> hints;
  private final PlayerContext context;
  private final Submissions submissions;
  private final Configuration conf;
  private final Executor starters;
  private final long masterStartMs;
  /** The tokens of attempts whose container runs. */
  private final BlockingQueue<String> masters = new LinkedBlockingQueue<>();
  private volatile ApplicationId id;

  ApplicationRun(Scenario.Application application, Map<String, String> hints, PlayerContext context,
      Submissions submissions, Configuration conf, Executor starters, long masterStartMs) {
    this.application = application;
    this.hints = hints;
    this.context = context;
    this.submissions = submissions;
    this.conf = conf;
    this.starters = starters;
    this.masterStartMs = masterStartMs;
  }

  /** Plays it; if anything fails, that is written down as the application's end. */
  void play() {
    String why = "";
    String state = "FAILED";
    try {
      state = submitted().toString();
    } catch (Exception e) {
      why = String.valueOf(e.getMessage());
      LOG.warn("{} did not reach its end: {}", application.id, e.toString());
      kill();
    } finally {
      close(state, why);
    }
  }

  /** Asks the ResourceManager to kill it; does nothing if it was not submitted. */
  void kill() {
    try {
      if (id != null) {
        submissions.client(application.user).killApplication(id);
      }
    } catch (Exception e) {
      LOG.warn("{} could not be killed: {}", application.id, e.toString());
    }
  }

  private FinalApplicationStatus submitted() throws Exception {
    ApplicationSubmissionContext submission = submissions.prepare(application, hints);
    id = submission.getApplicationId();
    expectMaster();
    context.log().write(line("submitted").put("yarn", id.toString()));
    YarnClient client = submissions.client(application.user);
    client.submitApplication(submission);
    ApplicationMaster master = new ApplicationMaster(application, context);
    if (application.am == null) {
      UserGroupInformation user = UserGroupInformation.createRemoteUser(application.user);
      user.addToken(waitForToken(client));
      return attempt(master, user);
    }
    while (true) {
      try {
        UserGroupInformation user = UserGroupInformation.createRemoteUser(application.user);
        user.addCredentials(waitForMaster());
        waitForStart();
        return attempt(master, user);
      } catch (ApplicationAttemptNotFoundException e) {
        LOG.info("{}: its attempt is gone, waiting for the next: {}", id, e.getMessage());
      }
    }
  }

  /** The container of each attempt reports under the application's name. */
  private void expectMaster() {
    context.held().expect(id.toString(), tokens -> {
      masters.add(tokens);
      expectMaster();
    });
  }

  private Token<AMRMTokenIdentifier> waitForToken(YarnClient client) throws Exception {
    while (true) {
      Token<AMRMTokenIdentifier> token = client.getAMRMToken(id);
      if (token != null) {
        return token;
      }
      checkAlive();
      Thread.sleep(LOOK_MS);
    }
  }

  private Credentials waitForMaster() throws Exception {
    String text = masters.poll(LOOK_AT_MASTER_MS, TimeUnit.MILLISECONDS);
    while (text == null) {
      checkAlive();
      text = masters.poll(LOOK_AT_MASTER_MS, TimeUnit.MILLISECONDS);
    }
    Credentials credentials = new Credentials();
    credentials.readTokenStorageStream(new DataInputStream(
        new ByteArrayInputStream(Base64.getDecoder().decode(text))));
    return credentials;
  }

  /** Waits as long as a separate program would take from its container's start to its first ask. */
  private void waitForStart() throws InterruptedException {
    Thread.sleep(masterStartMs);
  }

  private void checkAlive() throws Exception {
    ApplicationReport report = submissions.report(application, id);
    YarnApplicationState state = report.getYarnApplicationState();
    if (state == YarnApplicationState.FAILED || state == YarnApplicationState.KILLED) {
      throw new IOException(report.getDiagnostics());
    }
  }

  private FinalApplicationStatus attempt(ApplicationMaster master, UserGroupInformation user)
      throws Exception {
    PrivilegedExceptionAction<FinalApplicationStatus> play = () -> {
      ResourceManagerLink manager = new ResourceManagerLink(conf);
      NodeLink nodes = new NodeLink(conf, starters);
      try {
        return master.play(manager, nodes);
      } finally {
        manager.close();
        nodes.close();
      }
    };
    try {
      FinalApplicationStatus status = user.doAs(play);
      context.held().end(id.toString(), 0);
      return status;
    } catch (UndeclaredThrowableException e) {
      throw (Exception) e.getCause();  // doAs wraps exceptions other than IOException
    }
  }

  /** Writes down how it ended, and when it began by the ResourceManager's own clock. */
  private void close(String state, String why) {
    ObjectNode line = line("closed").put("why", why);
    String ended = state;
    try {
      ApplicationReport report = submissions.report(application, id);
      line.put("submitted_ms", report.getStartTime());
      if (report.getYarnApplicationState() == YarnApplicationState.KILLED) {
        ended = "KILLED";
      }
    } catch (IOException | YarnException | RuntimeException e) {
      LOG.warn("{}: no report of its end: {}", application.id, e.toString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    context.log().write(line.put("state", ended));
  }

  private ObjectNode line(String event) {
    return PlayerLog.line(event).put("application", application.id);
  }
}
