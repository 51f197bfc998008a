package org.loomcard.yarn.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.security.PrivilegedExceptionAction;
import java.util.Collections;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.protocolrecords.GetNewApplicationRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.SubmitApplicationRequest;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.junit.AfterClass;
import org.junit.Before;
import org.junit.BeforeClass;
import org.junit.Test;
import org.loomcard.yarn.bridge.BridgeSamples;
import org.loomcard.yarn.bridge.Until;
import org.loomcard.yarn.config.BridgeConfig;

/** Whose changes a ResourceManager accepts over HTTP that does not prove who calls. */
public final class CallerTest {
  private static final SampleStatus STATUS = IdleScheduler.STATUS;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String POLICY = "/ws/v1/cluster/loomcard/policy";
  private static final String AS_ADMIN = "?user.name=admin";

  private static RunningRm manager;

  @BeforeClass
  public static void startWithOneAdministrator() throws Exception {
    Configuration conf = new YarnConfiguration();
    conf.set(YarnConfiguration.YARN_ADMIN_ACL, "admin");
    manager = RunningRm.start(IdleScheduler.class, conf);
  }

  @AfterClass
  public static void stop() {
    manager.stop();
  }

  @Before
  public void forget() {
    STATUS.applied.clear();
    STATUS.tried.clear();
    STATUS.answer = BridgeSamples.applied(SampleStatus.GOVERNING);
    STATUS.token.prepare();
    manager.resetHeaders();
  }

  private static RunningRm.Answer[] everyChange() throws IOException {
    return new RunningRm.Answer[] {manager.put(POLICY + AS_ADMIN, "policy: drf\n"),
        manager.put(POLICY + AS_ADMIN + "&dry_run=true", "policy: drf\n"),
        manager.post(POLICY + "/rollback" + AS_ADMIN)};
  }

  private static void refused(String why) throws IOException {
    for (RunningRm.Answer answer : everyChange()) {
      assertEquals(answer.body, 403, answer.status);
      JsonNode document = JSON.readTree(answer.body);
      String said = document.path("message").asText() + " " + document.path("hint").asText();
      assertTrue(said, said.contains(why));
      assertFalse("one line", said.contains("\n"));
      assertFalse("a secret", answer.body.contains(manager.token()));
    }
    assertEquals(Collections.emptyList(), STATUS.applied);
    assertEquals(Collections.emptyList(), STATUS.tried);
  }

  /** The administrator's name is not enough, not even on the ResourceManager's own host. */
  @Test
  public void anAddressProvesNothing() throws Exception {
    manager.headers.remove("X-Loomcard-Token");
    refused("The token is missing");
    refused(STATUS.token.file().toString());
    refused("--token-file FILE");
  }

  /** Another token does not count, and is not repeated in the answer. */
  @Test
  public void aWrongTokenProvesNothing() throws Exception {
    String wrong = manager.token().replace(manager.token().charAt(0), 'x');
    manager.headers.put("X-Loomcard-Token", wrong);
    refused("not this ResourceManager's");
    assertFalse(manager.put(POLICY + AS_ADMIN, "policy: drf\n").body.contains(wrong));
  }

  /** The token admits an administrator, and nobody else. */
  @Test
  public void theTokenIsForAdministrators() throws Exception {
    assertEquals(200, manager.put(POLICY + AS_ADMIN, "policy: drf\n").status);
    assertEquals(403, manager.put(POLICY + "?user.name=bob", "policy: drf\n").status);
    assertEquals(1, STATUS.applied.size());
  }

  /** A deleted token no longer counts; the one that replaces it does. */
  @Test
  public void aTokenIsRenewedByDeletion() throws Exception {
    String old = manager.token();
    Files.delete(STATUS.token.file());
    refused("not this ResourceManager's");
    assertNotEquals(old, manager.token());
    manager.resetHeaders();
    assertEquals(200, manager.put(POLICY + AS_ADMIN, "policy: drf\n").status);
  }

  /** A form on another site's page cannot send the header, whoever is logged in there. */
  @Test
  public void aPageOfAnotherSiteCannotChangeAnything() throws Exception {
    manager.headers.remove("X-XSRF-HEADER");
    refused("X-XSRF-HEADER is missing");
    Caller administrator = new Caller("admin", true, null, false, false);
    assertTrue(PolicyAdministrators.denial(new Configuration(), STATUS.token, administrator)
        .message.contains("X-XSRF-HEADER"));
  }

  /** An application's tracking URL may be the ResourceManager's own; then its proxy calls. */
  @Test
  public void theWebProxyIsRefused() throws Exception {
    String proxied = "/proxy/" + applicationThatTracks(manager.address + "/") + POLICY;
    assertEquals("the proxy leads here", 200, manager.get(proxied, "application/json").status);
    RunningRm.Answer answer = manager.put(proxied + AS_ADMIN, "policy: drf\n");
    assertTrue(answer.body, answer.body.contains("through the ResourceManager's web proxy"));
    assertEquals(Collections.emptyList(), STATUS.applied);
  }

  /** The proxy is known by its cookie alone, in case it ever passes on what callers send. */
  @Test
  public void theWebProxyIsKnownByItsCookie() throws Exception {
    manager.headers.put("Cookie", "a=b; proxy-user=admin");
    refused("through the ResourceManager's web proxy");
  }

  /** A caller with a proof needs no token; {@code simple} authentication is not a proof. */
  @Test
  public void aTicketIsAProof() {
    Configuration conf = new Configuration();
    assertNull(PolicyAdministrators.denial(conf, STATUS.token,
        new Caller("admin", true, null, true, false)));
    for (String proof : new String[] {"kerberos", "kerberos-dt", "ldap"}) {
      assertTrue(Caller.isProof(proof));
    }
    for (String none : new String[] {null, "simple", "simple-dt"}) {
      assertFalse(Caller.isProof(none));
    }
  }

  /** The old key still works without the token, in this version. */
  @Test
  public void theOldKeyDoesWithoutTheToken() {
    Configuration conf = new Configuration();
    Caller caller = new Caller("admin", false, null, true, false);
    assertTrue(PolicyAdministrators.denial(conf, STATUS.token, caller).message
        .contains("token is missing"));
    conf.setBoolean(BridgeConfig.APPLY_UNAUTHENTICATED, true);
    assertNull(PolicyAdministrators.denial(conf, STATUS.token, caller));
  }

  /** An unmanaged AM of a user without rights registers the URL. */
  private static ApplicationId applicationThatTracks(String url) throws Exception {
    UserGroupInformation mallory = UserGroupInformation.createRemoteUser("mallory");
    ApplicationId id = mallory.doAs((PrivilegedExceptionAction<ApplicationId>) () -> {
      ApplicationId fresh = manager.manager.getClientRMService().getNewApplication(
          GetNewApplicationRequest.newInstance()).getApplicationId();
      manager.manager.getClientRMService().submitApplication(
          SubmitApplicationRequest.newInstance(ApplicationSubmissionContext.newInstance(fresh,
              "innocent", "default", Priority.newInstance(0), ContainerLaunchContext.newInstance(
                  null, null, null, null, null, null), true, false, 1,
              Resource.newInstance(512, 1))));
      return fresh;
    });
    RMApp app = manager.manager.getRMContext().getRMApps().get(id);
    RMAppAttempt attempt = awaitAttempt(app, RMAppAttemptState.LAUNCHED);
    UserGroupInformation master =
        UserGroupInformation.createRemoteUser(attempt.getAppAttemptId().toString());
    master.addTokenIdentifier(attempt.getAMRMToken().decodeIdentifier());
    master.doAs((PrivilegedExceptionAction<Void>) () -> {
      manager.manager.getApplicationMasterService().registerApplicationMaster(
          RegisterApplicationMasterRequest.newInstance("localhost", 0, url));
      return null;
    });
    // The dispatcher's thread records the URL; until then the proxy leads to the page of the RM.
    awaitAttempt(app, RMAppAttemptState.RUNNING);
    return id;
  }

  private static RMAppAttempt awaitAttempt(RMApp app, RMAppAttemptState wanted)
      throws InterruptedException {
    Until.waitUntil("the attempt is " + wanted, () -> app.getCurrentAppAttempt() != null
        && app.getCurrentAppAttempt().getState() == wanted);
    return app.getCurrentAppAttempt();
  }
}
