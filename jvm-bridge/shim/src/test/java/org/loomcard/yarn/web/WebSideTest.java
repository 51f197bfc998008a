package org.loomcard.yarn.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URL;
import java.net.URLConnection;
import java.util.Arrays;
import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.AccessControlList;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.security.YarnAuthorizationProvider;
import org.junit.AfterClass;
import org.junit.Before;
import org.junit.BeforeClass;
import org.junit.Test;
import org.loomcard.yarn.bridge.BridgeSamples;
import org.loomcard.yarn.bridge.ConfigSwapResult;

/** The web side in a real ResourceManager, called over HTTP. */
public final class WebSideTest {
  private static final SampleStatus STATUS = IdleScheduler.STATUS;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String POLICY = "/ws/v1/cluster/loomcard/policy";

  private static RunningRm manager;

  @Before
  public void forget() {
    STATUS.applied.clear();
    STATUS.tried.clear();
    STATUS.recovered = true;
    STATUS.answer = BridgeSamples.applied(SampleStatus.GOVERNING);
  }

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

  /** The document comes as JSON whatever type a client requests, in YARN's own envelope. */
  @Test
  public void schedulerDocumentIsJson() throws Exception {
    for (String accept : new String[] {"*/*", "application/json", "application/xml", null}) {
      RunningRm.Answer answer = manager.get("/ws/v1/cluster/scheduler", accept);
      assertEquals(200, answer.status);
      assertTrue(answer.type, answer.type.startsWith("application/json"));
      JsonNode document = JSON.readTree(answer.body);
      JsonNode info = document.path("scheduler").path("schedulerInfo").path("loomcard");
      assertTrue(((ObjectNode) info).remove("scrapers").isArray());
      assertEquals(SchedulerDocument.enveloped(STATUS, 100).toString(), document.toString());
      assertEquals("loomcard", info.path("type").asText());
      assertEquals("root", info.path("queues").path(1).path("parent").asText());
      assertEquals(6144, info.path("queues").path(1).path("used").path("memory_mb").asLong());
      assertEquals("NODE_FULL",
          info.path("waiting").path(0).path("asks").path(0).path("reason").asText());
      assertEquals(SampleStatus.REPORT,
          info.path("queues").path(1).path("report").toString());
    }
  }

  /** The page is the same for everyone: names from users come only in the document, as data. */
  @Test
  public void pageIsStaticAndLoadsNothingFromElsewhere() throws Exception {
    for (String path : new String[] {"/cluster/scheduler", "/cluster/scheduler/",
        "/cluster/scheduler/queue"}) {
      RunningRm.Answer page = manager.get(path, "text/html");
      assertEquals(path, 200, page.status);
      assertTrue(page.type, page.type.startsWith("text/html"));
      assertTrue(page.header("Content-Security-Policy").startsWith("default-src 'self';"));
      assertEquals("nosniff", page.header("X-Content-Type-Options"));
      assertEquals("inline code or style", -1, indexOf(
          "<script>|<style|\\son\\w+=|\\sstyle=|javascript:", page.body));
      Matcher links = Pattern.compile("(?:src|href)=\"([^\"]*)\"").matcher(page.body);
      int found = 0;
      for (; links.find(); found++) {
        assertTrue(links.group(1), links.group(1).startsWith("/"));
        if (!links.group(1).equals("/logs")) { // this ResourceManager has none
          assertEquals(links.group(1), 200, manager.get(links.group(1), "*/*").status);
        }
      }
      assertTrue(found > 10);
    }
  }

  /** A name such as {@code <img onerror=...>} stays text. */
  @Test
  public void scriptWritesTextAlone() throws Exception {
    RunningRm.Answer script = manager.get("/cluster/scheduler/page.js", "*/*");
    assertTrue(script.type, script.type.startsWith("text/javascript"));
    assertEquals("a way for a text to become HTML or code", -1, indexOf("innerHTML|outerHTML"
        + "|insertAdjacentHTML|document\\.write|\\beval\\b|Function\\(|setAttribute|srcdoc"
        + "|javascript:|createContextualFragment|DOMParser|setTimeout|https?:", script.body));
    RunningRm.Answer document = manager.get("/ws/v1/cluster/scheduler", "text/html");
    assertTrue(document.body.contains("<img src=x onerror=alert(1)>"));
    assertTrue(document.type, document.type.startsWith("application/json"));
    assertEquals("nosniff", document.header("X-Content-Type-Options"));
  }

  /** Each property that the script reads is a key of the document, or the browser's own. */
  @Test
  public void scriptReadsWhatTheDocumentHas() throws Exception {
    JsonNode document = JSON.readTree(manager.get("/ws/v1/cluster/scheduler", null).body);
    Set<String> known = new TreeSet<>(Arrays.asList("getElementById", "createElement",
        "textContent", "className", "appendChild", "forEach", "toLocaleString", "toFixed",
        "toISOString", "slice", "replace", "replaceAll", "entries", "map", "join", "values", "some",
        "abs", "href", "concat", "filter", "flatMap", "reduce", "length", "min", "max", "style",
        "width", "left", "paddingLeft", "title", "split", "sort", "endsWith", "isArray",
        "stringify", "isInteger", "toPrecision", "get", "set", "size", "json", "ok", "message",
        "headings"));
    addKeys(document, known);
    String script = manager.get("/cluster/scheduler/page.js", "*/*").body
        .replaceAll("(?s)/\\*.*?\\*/", "").replaceAll("\"[^\"]*\"", "");
    Matcher read = Pattern.compile("(?<=[\\w)\\]])\\.(\\w+)").matcher(script);
    Set<String> keys = new TreeSet<>();
    while (read.find()) {
      keys.add(read.group(1));
    }
    assertTrue(keys.toString(), keys.contains("until_ms") && keys.contains("last_failure"));
    keys.removeAll(known);
    assertEquals(Collections.emptySet(), keys);
  }

  private static void addKeys(JsonNode node, Set<String> keys) {
    node.fieldNames().forEachRemaining(keys::add);
    node.forEach(child -> addKeys(child, keys));
  }

  private static int indexOf(String pattern, String text) {
    Matcher found = Pattern.compile(pattern).matcher(text);
    return found.find() ? found.start() : -1;
  }

  /** A method that a path does not have is refused, and the answer names those that it has. */
  @Test
  public void otherMethodsAreRefused() throws Exception {
    RunningRm.Answer refused = manager.call("DELETE", POLICY);
    assertEquals(405, refused.status);
    assertEquals("GET, HEAD, PUT, OPTIONS", refused.header("Allow"));
    assertTrue(refused.body, refused.body.contains("The methods here are GET, HEAD, PUT."));
    assertEquals(405, manager.call("GET", POLICY + "/rollback").status);
    assertEquals(405, manager.call("PUT", "/cluster/scheduler").status);
    RunningRm.Answer asked = manager.call("OPTIONS", POLICY + "/rollback");
    assertEquals("as a browser asks before a call to another host", 200, asked.status);
    assertEquals("POST, OPTIONS", asked.header("Allow"));
    RunningRm.Answer head = manager.call("HEAD", POLICY);
    assertEquals(200, head.status);
    assertEquals("", head.body);
    assertEquals(404, manager.get(POLICY + "/unknown", "*/*").status);
    assertEquals(Collections.emptyList(), STATUS.applied);
  }

  /** An error in a path of ours is a document with one line; other paths keep YARN's own errors. */
  @Test
  public void anExceptionIsADocument() throws Exception {
    STATUS.answer = null;
    RunningRm.Answer failed = manager.put(POLICY + "?user.name=admin", "policy: drf\n");
    assertEquals(500, failed.status);
    JsonNode document = JSON.readTree(failed.body);
    assertTrue(failed.body, document.path("message").asText().contains("NullPointerException"));
    assertFalse(failed.body, document.path("hint").asText().isEmpty());
    assertEquals(200, manager.get("/ws/v1/cluster/info", "*/*").status);
  }

  /** The document says whether a failure is over. */
  @Test
  public void aFailureThatLastsIsNotCalledOver() throws Exception {
    assertEquals(1_790_000_005_000L, recoveredMs().asLong());
    STATUS.recovered = false;
    assertTrue(recoveredMs().isNull());
  }

  private static JsonNode recoveredMs() throws Exception {
    return JSON.readTree(manager.get("/ws/v1/cluster/scheduler", "application/json").body)
        .at("/scheduler/schedulerInfo/loomcard/bridge").get("recovered_ms");
  }

  /** A reader may say how many asks of each queue it wants; nonsense is refused with the bounds. */
  @Test
  public void listedAsksAreBounded() throws Exception {
    STATUS.limits.clear();
    RunningRm.Answer few = manager.get("/ws/v1/cluster/scheduler?limit=0", "application/json");
    assertEquals(200, few.status);
    assertEquals("{\"applications\":7,\"asks\":2000000,\"containers\":3000000,\"limit\":0}",
        JSON.readTree(few.body).at("/scheduler/schedulerInfo/loomcard/waiting_total")
            .toString());
    assertEquals(200, manager.get("/ws/v1/cluster/scheduler", "*/*").status);
    assertEquals(Arrays.asList(0, 100), STATUS.limits);
    for (String wrong : new String[] {"-1", "10001", "99999999999", "many", ""}) {
      RunningRm.Answer refused = manager.get("/ws/v1/cluster/scheduler?limit=" + wrong, "*/*");
      assertEquals(wrong, 400, refused.status);
      assertTrue(refused.body, refused.body.contains("from 0 to 10000"));
    }
  }

  /** A caller's text cannot forge a line of the log, nor be used as a file's name. */
  @Test
  public void namesAreOneLine() throws Exception {
    StringBuilder tooLong = new StringBuilder();
    for (int i = 0; i < 256; i++) {
      tooLong.append('x');
    }
    for (String name : new String[] {"a%0AINFO%20b", "a%E2%80%A8b", tooLong.toString()}) {
      RunningRm.Answer answer =
          manager.put(POLICY + "?user.name=admin&name=" + name, "policy: drf\n");
      assertEquals(400, answer.status);
      assertTrue(answer.body, answer.body.contains("cannot be printed"));
    }
    assertEquals(Collections.emptyList(), STATUS.applied);
    assertEquals("a?b", PolicyUpload.printable("a\nb"));
  }

  /** The document names who asks for the metrics; the same one again is the same entry. */
  @Test
  public void scrapersAreNamed() throws Exception {
    for (String agent : new String[] {"Other/1", "Prometheus/2.42.0", "Prometheus/2.42.0"}) {
      URLConnection scrape = new URL(manager.address + "/prom").openConnection();
      scrape.setRequestProperty("User-Agent", agent);
      assertNotNull(scrape.getHeaderField(0)); // whether it is on or not
    }
    JsonNode scrapers = JSON.readTree(manager.get("/ws/v1/cluster/scheduler", "*/*").body)
        .at("/scheduler/schedulerInfo/loomcard/scrapers");
    assertEquals(Arrays.asList("Other/1", "Prometheus/2.42.0"),
        scrapers.findValuesAsText("agent"));
    assertTrue(scrapers.toString(), scrapers.get(1).path("age_ms").asLong(-1) >= 0);
  }

  /** YARN still answers all that it answered before. */
  @Test
  public void restOfTheWebSideStays() throws Exception {
    for (String path : new String[] {"/cluster", "/cluster/apps", "/cluster/nodes",
        "/ws/v1/cluster/info", "/ws/v1/cluster/metrics", "/ws/v1/cluster/apps",
        "/ws/v1/cluster/nodes", "/ws/v1/cluster/scheduler-overview", "/static/yarn.css", "/jmx"}) {
      assertEquals(path, 200, manager.get(path, "*/*").status);
    }
  }

  /** An administrator's YAML reaches the scheduler unchanged; the answer names what is used now. */
  @Test
  public void administratorApplies() throws Exception {
    RunningRm.Answer answer =
        manager.put(POLICY + "?name=drf.yml&user.name=admin", "policy: drf  # grün\n");
    assertEquals(answer.body, 200, answer.status);
    assertEquals(Collections.singletonList("drf.yml: policy: drf  # grün\n"), STATUS.applied);
    assertEquals(3, JSON.readTree(answer.body).path("version").asInt());
    assertEquals("9f2c4e", JSON.readTree(answer.body).path("hash").asText());
  }

  /** An applied configuration can be read back. */
  @Test
  public void policyIsReadable() throws Exception {
    RunningRm.Answer answer = manager.get(POLICY, "application/json");
    assertEquals(200, answer.status);
    assertEquals("{\"version\":3,\"hash\":\"9f2c4e\",\"source\":\"two.yml\","
        + "\"yaml\":\"policy: drf\\n\",\"features\":[\"dry_run\"]}", answer.body);
  }

  /** Every version that is kept is shown with who applied it and when, and which one is used. */
  @Test
  public void historyIsReadable() throws Exception {
    RunningRm.Answer answer = manager.get(POLICY + "/history", "application/json");
    assertEquals(answer.body, 200, answer.status);
    JsonNode policies = JSON.readTree(answer.body).path("policies");
    assertEquals(3, policies.size());
    assertEquals("{\"version\":2,\"hash\":\"9f2c4e\",\"source\":\"two.yml\","
        + "\"applied_at_ms\":1790000000500,\"user\":\"alice\",\"has_yaml\":true,"
        + "\"governs\":false}", policies.path(1).toString());
    assertTrue(policies.path(0).path("governs").asBoolean());
    assertTrue(policies.path(2).path("applied_at_ms").isNull());
  }

  /** A rollback applies the kept text as a new version, in the name of the caller. */
  @Test
  public void administratorRollsBack() throws Exception {
    String path = POLICY.replace("/policy", "/policy/rollback");
    for (String version : new String[] {"", "&version=2"}) {
      RunningRm.Answer answer = manager.post(path + "?user.name=admin" + version);
      assertEquals(answer.body, 200, answer.status);
    }
    assertEquals(Arrays.asList("two.yml: policy: fifo\n", "two.yml: policy: fifo\n"),
        STATUS.applied);
    assertEquals("admin", STATUS.users.get(STATUS.users.size() - 1));
  }

  /** An impossible rollback is refused, and the answer lists the versions that are kept. */
  @Test
  public void impossibleRollbacksAreRefused() throws Exception {
    String path = POLICY + "/rollback?user.name=admin&version=";
    RunningRm.Answer unknown = manager.post(path + "9");
    assertEquals(404, unknown.status);
    assertTrue(unknown.body, unknown.body.contains("Version 9 is not kept.")
        && unknown.body.contains("Kept are: 2, 1."));
    RunningRm.Answer governing = manager.post(path + "3");
    assertEquals(404, governing.status);
    assertTrue(governing.body, governing.body.contains("Version 3 governs already."));
    RunningRm.Answer compiled = manager.post(path + "1");
    assertEquals(409, compiled.status);
    assertTrue(compiled.body, compiled.body.contains("no YAML text is kept"));
    assertEquals(403, manager.post(POLICY + "/rollback?user.name=bob").status);
    assertEquals(Collections.emptyList(), STATUS.applied);
  }

  /** A dry run says what would be used, or what is wrong with it; nothing is applied. */
  @Test
  public void dryRunAppliesNothing() throws Exception {
    String path = POLICY + "?user.name=admin&name=drf.yml&dry_run=";
    STATUS.answer = BridgeSamples.plain(ConfigSwapResult.Outcome.WOULD_APPLY,
        "would apply it; nothing was changed", SampleStatus.GOVERNING);
    RunningRm.Answer good = manager.put(path + "true", "policy: drf\n");
    assertEquals(good.body, 200, good.status);
    assertEquals("{\"message\":\"would apply it; nothing was changed\",\"dry_run\":true,"
        + "\"version\":3,\"hash\":\"9f2c4e\",\"source\":\"drf.yml\"}", good.body);
    STATUS.answer = BridgeSamples.refused("root.a has live applications.",
        Arrays.asList("application_1_0001"), SampleStatus.GOVERNING);
    assertEquals(409, manager.put(path + "true", "policy: drf\n").status);
    assertEquals(2, STATUS.tried.size());
    assertEquals(400, manager.put(path + "perhaps", "policy: drf\n").status);
    for (String meant : Arrays.asList("dry-run=true", "dryRun=true",
        "dry_run=false&dry_run=true")) {
      assertEquals(400, manager.put(POLICY + "?user.name=admin&" + meant, "policy: drf\n").status);
    }
    assertEquals(403, manager.put(POLICY + "?user.name=bob&dry_run=true", "policy: drf\n").status);
    assertEquals(2, STATUS.tried.size());
    assertEquals(Collections.emptyList(), STATUS.applied);
  }

  /** Only an administrator may; calls of others do not even reach the scheduler. */
  @Test
  public void othersAreRefused() throws Exception {
    RunningRm.Answer bob = manager.put(POLICY + "?user.name=bob", "policy: drf\n");
    assertEquals(403, bob.status);
    assertTrue(bob.body, bob.body.contains("User bob is no YARN administrator."));
    RunningRm.Answer nobody = manager.put(POLICY, "policy: drf\n");
    assertEquals(nobody.body, 403, nobody.status);
    assertEquals(Collections.emptyList(), STATUS.applied);
  }

  /**
   * While everyone is an administrator, nobody may apply, unless a setting of the cluster allows
   * it.
   */
  @Test
  public void wildcardIsRefusedUnlessMeant() throws Exception {
    YarnAuthorizationProvider authorizer =
        YarnAuthorizationProvider.getInstance(new Configuration());
    UserGroupInformation owner = UserGroupInformation.getCurrentUser();
    Configuration meant = new Configuration();
    meant.setBoolean("loomcard.apply.any-admin", true);
    assertNotNull("a list that names people holds", PolicyAdministrators.denial(meant, "bob"));
    authorizer.setAdmins(new AccessControlList("*"), owner);
    try {
      RunningRm.Answer refused = manager.put(POLICY + "?user.name=admin", "policy: drf\n");
      assertEquals(403, refused.status);
      assertTrue(refused.body, refused.body.contains("while yarn.admin.acl is"));
      assertTrue(refused.body, refused.body.contains("loomcard.apply.any-admin"));
      assertEquals(Collections.emptyList(), STATUS.applied);
      assertNull(PolicyAdministrators.denial(meant, (String) null));
    } finally {
      authorizer.setAdmins(new AccessControlList("admin"), owner);
    }
  }

  /** Every error of a YAML file comes back with its place. */
  @Test
  public void findingsComeBack() throws Exception {
    STATUS.answer = BridgeSamples.findings(Collections.singletonList(new ConfigSwapResult.Finding(
        3, 5, "queues.a.weight", "must be above 0", "write weight: 1")), SampleStatus.GOVERNING);
    RunningRm.Answer answer = manager.put(POLICY + "?user.name=admin", "policy: drf\n");
    assertEquals(400, answer.status);
    JsonNode document = JSON.readTree(answer.body);
    assertEquals("{\"line\":3,\"column\":5,\"path\":\"queues.a.weight\","
        + "\"message\":\"must be above 0\",\"hint\":\"write weight: 1\"}",
        document.path("findings").path(0).toString());
    assertFalse(document.path("hint").asText().isEmpty());
  }

  /**
   * A policy configuration that would remove the queue of live applications is a conflict that
   * names them.
   */
  @Test
  public void queuesInUseAreAConflict() throws Exception {
    STATUS.answer = BridgeSamples.refused("root.a has live applications.",
        Arrays.asList("application_1_0001"), SampleStatus.GOVERNING);
    RunningRm.Answer answer = manager.put(POLICY + "?user.name=admin", "policy: drf\n");
    assertEquals(409, answer.status);
    assertEquals("[\"application_1_0001\"]",
        JSON.readTree(answer.body).path("applications").toString());
  }

  /** Without a policy process no YAML can be read, and the answer says so. */
  @Test
  public void deadPolicyProcessIsUnavailable() throws Exception {
    STATUS.answer = BridgeSamples.plain(ConfigSwapResult.Outcome.UNAVAILABLE,
        "The policy process is down.", SampleStatus.GOVERNING);
    RunningRm.Answer down = manager.put(POLICY + "?user.name=admin", "policy: drf\n");
    assertEquals(503, down.status);
    assertTrue(down.body, down.body.contains("The policy process is down."));
    STATUS.answer = BridgeSamples.plain(ConfigSwapResult.Outcome.FAILED, "The disk is full.",
        SampleStatus.GOVERNING);
    assertEquals(500, manager.put(POLICY + "?user.name=admin", "policy: drf\n").status);
  }

  /** Bodies that cannot be a policy are refused before they are parsed. */
  @Test
  public void oddBodiesAreRefused() throws Exception {
    String path = POLICY + "?user.name=admin";
    assertEquals(400, manager.put(path, "").status);
    assertEquals(400, manager.put(path, new byte[] {(byte) 0xff, (byte) 0xfe}).status);
    byte[] tooLong = new byte[PolicyUpload.LONGEST + 1];
    Arrays.fill(tooLong, (byte) '#');
    assertEquals(413, manager.put(path, tooLong).status);
    assertEquals(400, manager.put(path + "&name=", "policy: drf\n").status);
    assertEquals(Collections.emptyList(), STATUS.applied);
    assertEquals(200, manager.put(path, Arrays.copyOf(tooLong, PolicyUpload.LONGEST)).status);
  }
}
