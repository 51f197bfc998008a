package org.loomcard.yarn.placement;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.security.Groups;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FSLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler;
import org.apache.hadoop.yarn.util.Records;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.queues.Placement;

/**
 * Random applications under random rules of CapacityScheduler and FairScheduler go where YARN's own
 * classes, in a real ResourceManager, send them. The rules are translated as
 * docs/operate/configuration.md says.
 */
public class StockPlacementTest {
  private static final int RULE_SETS = 50;
  private static final int SUBMISSIONS = 20;
  private static final String CS = "yarn.scheduler.capacity.";
  private static final String APPLICATIONS = "yarn.scheduler.queue-placement-rules.app-name";
  private static final Map<String, List<String>> GROUPS = new LinkedHashMap<>();
  private static final String[] USERS =
      {"alice", "bob", "carl.s", "dora", "staff", "many", "etl", "zed"};
  private static final String[] NAMES = {"nightly", "day", "deep.x", "a-b", "g2"};
  private static final String[] QUEUES = {"default", "default", "root.default", "day", "team.day",
      "root.team.day", "x", "deep.x", "team.deep.x", "nowhere", "root.nowhere", "team",
      "root.users.zed", "users.zed", "root.users.q.zed", "users.a.b.c", "root.etl.below", "etl",
      "g1", "root.groups.g1", "mixed.fixed", "root.mixed.fixed.more", "root.mixed.more"};

  static {
    GROUPS.put("alice", Arrays.asList("staff", "g2", "g1"));
    GROUPS.put("bob", Arrays.asList("g1"));
    GROUPS.put("carl.s", Arrays.asList("ops.x", "many"));
    GROUPS.put("dora", Arrays.asList("many", "team", "g2"));
    GROUPS.put("staff", Arrays.asList("staff", "etl"));
    GROUPS.put("many", Arrays.asList("users", "day"));
    GROUPS.put("etl", Arrays.asList("etl", "x", "ops.x"));
    GROUPS.put("zed", Arrays.asList("default", "staff", "g1"));
  }

  @Rule public final TemporaryFolder folder = new TemporaryFolder();
  private final YarnConfiguration conf = new YarnConfiguration();
  private final Random random = new Random(31);
  private final StockRules ours = new StockRules();
  private MockRM rm;
  private int created;
  private int refused;

  @Before
  public void groups() {
    StringBuilder overrides = new StringBuilder();
    GROUPS.forEach((user, groups) -> overrides.append(user).append('=')
        .append(String.join(",", groups)).append(';'));
    conf.set(CommonConfigurationKeys.HADOOP_USER_GROUP_STATIC_OVERRIDES, overrides.toString());
    Groups.getUserToGroupsMappingServiceWithLoadedConfiguration(conf);
    DefaultMetricsSystem.setMiniClusterMode(true);
  }

  @After
  public void stop() {
    rm.stop();
    Groups.getUserToGroupsMappingServiceWithLoadedConfiguration(new YarnConfiguration());
  }

  private <T extends ResourceScheduler> T start(Class<T> scheduler) {
    conf.set(YarnConfiguration.RM_SCHEDULER, scheduler.getName());
    rm = new MockRM(conf);
    rm.start();
    return scheduler.cast(rm.getResourceScheduler());
  }

  private ApplicationSubmissionContext submission(String queue, String name) {
    ApplicationSubmissionContext asked = Records.newRecord(ApplicationSubmissionContext.class);
    asked.setQueue(queue);
    asked.setApplicationName(name);
    return asked;
  }

  private String any(String... texts) {
    return texts[random.nextInt(texts.length)];
  }

  private void count(Placement.Outcome found, PolicyConfig config) {
    refused += found.queue == null ? 1 : 0;
    created += found.queue != null && config.queue(found.queue) == null ? 1 : 0;
  }

  // CapacityScheduler.

  /** Queues by weight, and the newer way of creating them, two levels deep. */
  private void flexibleQueues() {
    capacity("root", "default,etl,team,other,groups,users,mixed");
    capacity("root.team", "day,night,deep");
    capacity("root.team.deep", "x");
    capacity("root.other", "x");
    capacity("root.groups", "g1,g2,many");
    capacity("root.groups.many", "alice,carl_dot_s");
    capacity("root.mixed", "fixed");
    for (String path : Arrays.asList("root.users", "root.mixed")) {
      conf.setBoolean(CS + path + ".auto-queue-creation-v2.enabled", true);
    }
    ours.queue("root", false, 0);
    for (String path : Arrays.asList("root.default", "root.etl", "root.groups", "root.groups.g1",
        "root.groups.g2", "root.groups.many", "root.groups.many.alice",
        "root.groups.many.carl_dot_s", "root.mixed", "root.mixed.fixed", "root.other",
        "root.other.x", "root.team", "root.team.day", "root.team.deep", "root.team.deep.x",
        "root.team.night", "root.users")) {
      boolean creates = path.equals("root.users") || path.equals("root.mixed");
      boolean leaf = !creates && conf.get(CS + path + ".queues") == null;
      ours.queue(path, leaf, creates ? 2 : 0);
    }
  }

  private void capacity(String path, String below) {
    conf.set(CS + path + ".queues", below);
    for (String name : below.split(",")) {
      conf.set(CS + path + "." + name + ".capacity", "1w");
    }
  }

  /** Queues in percent, and the older way of creating them, one level deep. */
  private void managedQueues() {
    conf.set(CS + "root.queues", "default,etl,users,groups");
    for (String path : Arrays.asList("root.default", "root.etl", "root.users", "root.groups")) {
      conf.set(CS + path + ".capacity", "25");
    }
    conf.setBoolean(CS + "root.users.auto-create-child-queue.enabled", true);
    conf.set(CS + "root.users.leaf-queue-template.capacity", "1");
    conf.set(CS + "root.groups.queues", "g1,g2");
    conf.set(CS + "root.groups.g1.capacity", "50");
    conf.set(CS + "root.groups.g2.capacity", "50");
    ours.queue("root", false, 0).queue("root.default", true, 0).queue("root.etl", true, 0)
        .queue("root.groups", false, 0).queue("root.groups.g1", true, 0)
        .queue("root.groups.g2", true, 0).queue("root.users", false, 1);
  }

  private String capacityPath() {
    return any("root.etl", "etl", "root.team.day", "day", "root.users.%user",
        "root.users.%primary_group.%user", "users.%user", "root.users.%primary_group", "%user",
        "%primary_group", "root.groups.%secondary_group", "%secondary_group", "%specified",
        "root.groups.%primary_group.%user", "root.team.%application", "root.mixed.%user",
        "root.groups.%secondary_group.%user", "root.users.new",
        "root.users.%application", "team.deep.x", "root.default");
  }

  private String condition() {
    switch (random.nextInt(4)) {
      case 0: return "user:" + any(USERS);
      case 1: return "group:" + any("staff", "g1", "g2", "many", "ops.x");
      case 2: return "application:" + any(NAMES);
      default: return "";
    }
  }

  private static String ourCondition(String stock) {
    String[] parts = stock.split(":");
    return stock.isEmpty() ? "" : "\"" + parts[0] + "\":[\"" + parts[1] + "\"]";
  }

  /** Sets random mappings of the older form, and ours in their place. */
  private void legacyRules(boolean override) {
    StringBuilder mappings = new StringBuilder();
    StringBuilder applications = new StringBuilder();
    for (int i = random.nextInt(4) + 1; i > 0; i--) {
      String stock = condition();
      String path = capacityPath();
      if (!stock.startsWith("application")) {
        String[] parts = stock.isEmpty() ? new String[] {"u", "%user"}
            : stock.replaceFirst("user", "u").replaceFirst("group", "g").split(":");
        mappings.append(mappings.length() == 0 ? "" : ",").append(parts[0]).append(':')
            .append(parts[1]).append(':').append(path);
        ours.add(ourCondition(stock), path, "all", "root.default");
      }
    }
    if (random.nextBoolean()) {
      String name = any("nightly", "%application");
      String path = capacityPath();
      applications.append(name).append(':').append(path);
      ours.add(name.equals("nightly") ? "\"application\":[\"nightly\"]" : "", path, "all",
          "root.default");
    }
    conf.set(CS + "mapping-rule-format", "legacy");
    conf.set(CS + "queue-mappings", mappings.toString());
    conf.set(APPLICATIONS, applications.toString());
    conf.setBoolean(CS + "queue-mappings-override.enable", override);
  }

  /** Sets random mappings of the newer form, and ours in their place. */
  private void jsonRules() {
    StringBuilder rules = new StringBuilder("{\"rules\":[");
    String byDefault = "root.default";
    int count = random.nextInt(4) + 1;
    for (int i = 0; i < count; i++) {
      String stock = condition();
      String[] parts = stock.isEmpty() ? new String[] {"user", "*"} : stock.split(":");
      String[] policies = {"specified", "reject", "defaultQueue", "user", "primaryGroup",
          "primaryGroupUser", "secondaryGroup", "secondaryGroupUser", "applicationName",
          "setDefaultQueue", "custom"};
      String policy = any(policies);
      String fallback = any("skip", "reject", "placeDefault");
      String parent = any("", "root.users", "root.groups", "users");
      boolean create = random.nextBoolean();
      rules.append(i == 0 ? "" : ",").append("{\"type\":\"").append(parts[0])
          .append("\",\"matches\":\"").append(parts[1]).append("\",\"policy\":\"").append(policy)
          .append("\",\"fallbackResult\":\"").append(fallback).append("\",\"create\":")
          .append(create);
      if (!parent.isEmpty()) {
        rules.append(",\"parentQueue\":\"").append(parent).append('"');
      }
      String custom = capacityPath();
      String value = any("root.etl", "root.users.%user", "root.groups.g1", "root.nowhere");
      rules.append(policy.equals("custom") ? ",\"customPlacement\":\"" + custom + "\"" : "")
          .append(policy.equals("setDefaultQueue") ? ",\"value\":\"" + value + "\"" : "")
          .append('}');
      String condition = ourCondition(stock);
      if (policy.equals("setDefaultQueue")) {
        if (condition.isEmpty()) {
          byDefault = value;
          continue;
        }
        rules.setLength(rules.lastIndexOf(i == 0 ? "{" : ",{")); // only without a condition
        count = i;
        break;
      }
      if (policy.equals("reject")) {
        ours.reject(condition);
        continue;
      }
      String queue = queueOf(policy, parent, custom, byDefault);
      boolean creates = create && !policy.equals("defaultQueue");
      ours.add(condition, queue, creates ? "all" : "", fallback.equals("skip") ? "next"
          : fallback.equals("reject") ? "reject" : byDefault);
    }
    conf.set(CS + "mapping-rule-format", "json");
    conf.set(CS + "mapping-rule-json", rules.append("]}").toString());
    conf.setBoolean(CS + "queue-mappings-override.enable", true);
  }

  private static String queueOf(String policy, String parent, String custom, String byDefault) {
    String below = parent.isEmpty() ? "" : parent + ".";
    switch (policy) {
      case "specified": return "%specified";
      case "defaultQueue": return byDefault;
      case "user": return below + "%user";
      case "primaryGroup": return below + "%primary_group";
      case "primaryGroupUser": return below + "%primary_group.%user";
      case "secondaryGroup": return below + "%secondary_group";
      case "secondaryGroupUser": return below + "%secondary_group.%user";
      case "applicationName": return below + "%application";
      default: return custom;
    }
  }

  private void compareCapacity(boolean json) throws Exception {
    CapacityScheduler stock = start(CapacityScheduler.class);
    for (int sets = 0; sets < RULE_SETS; ) {
      ours.clear();
      boolean override = json || random.nextBoolean();
      if (!override) {
        ours.add("\"named\":true", "%specified", "", "reject");
      }
      if (json) {
        jsonRules();
      } else {
        legacyRules(override);
      }
      if (override) {
        ours.add("\"named\":true", "%specified", "", "reject");
      }
      ours.add("", "default", "", "next");
      try {
        stock.reinitialize(conf, rm.getRMContext());
      } catch (IOException e) {
        continue; // YARN refuses these rules
      }
      sets++;
      PolicyConfig config = ours.config();
      for (int i = 0; i < SUBMISSIONS; i++) {
        String user = any(USERS);
        String queue = any(QUEUES);
        String name = any(NAMES);
        Placement.Outcome found = StockRules.place(config, user, GROUPS.get(user), name, queue);
        count(found, config);
        assertEquals(user + " " + GROUPS.get(user) + " " + queue + " " + name + " by "
            + conf.get(CS + "queue-mappings") + conf.get(APPLICATIONS)
            + conf.get(CS + "mapping-rule-json") + " ours " + found.rule + found.why,
            capacityQueue(stock, user, queue, name), found.queue);
      }
    }
    assertTrue(created + " created, " + refused + " refused", created > 20 && refused > 20);
  }

  private String capacityQueue(CapacityScheduler stock, String user, String queue, String name) {
    ApplicationPlacementContext placed;
    try {
      placed = rm.getRMContext().getQueuePlacementManager()
          .placeApplication(submission(queue, name), user);
    } catch (YarnException e) {
      return null;
    }
    if (placed != null) {
      return placed.getFullQueuePath();
    }
    // No rule has decided, so the submitter's word counts: here also a path from another queue on.
    boolean partly = queue.contains(".") && !queue.startsWith("root.");
    CSQueue known = stock.getQueue(!partly ? queue
        : queue.startsWith("deep.") ? "root.team." + queue : "root." + queue);
    return known instanceof AbstractLeafQueue ? known.getQueuePath() : null;
  }

  @Test
  public void mappingsOfCapacitySchedulerOnFlexibleQueues() throws Exception {
    flexibleQueues();
    compareCapacity(false);
  }

  @Test
  public void jsonMappingsOfCapacitySchedulerOnFlexibleQueues() throws Exception {
    flexibleQueues();
    compareCapacity(true);
  }

  @Test
  public void mappingsOfCapacitySchedulerOnManagedQueues() throws Exception {
    managedQueues();
    compareCapacity(false);
  }

  // FairScheduler.

  private static final String[] FAIR_PARENTS = {"root", "root.groups", "root.groups.many",
      "root.team", "root.users"};
  private static final String[] FAIR_LEAVES = {"root.default", "root.etl", "root.groups.g1",
      "root.groups.g2", "root.groups.many.alice", "root.team.day", "root.g1", "root.alice",
      "root.users.zed"};

  private String fairQueues() {
    List<String> all = new ArrayList<>(Arrays.asList(FAIR_PARENTS));
    all.addAll(Arrays.asList(FAIR_LEAVES));
    Collections.sort(all);
    for (String path : all) {
      boolean leaf = Arrays.asList(FAIR_LEAVES).contains(path);
      ours.queue(path, leaf, leaf ? 0 : 8);
    }
    return "<queue name=\"default\"/><queue name=\"etl\"/><queue name=\"g1\"/>"
        + "<queue name=\"alice\"/><queue name=\"team\"><queue name=\"day\"/></queue>"
        + "<queue name=\"users\"><queue name=\"zed\"/></queue>"
        + "<queue name=\"groups\"><queue name=\"g1\"/><queue name=\"g2\"/>"
        + "<queue name=\"many\"><queue name=\"alice\"/></queue></queue>";
  }

  /** Adds a rule that another one may follow, or ({@code last}) that none may. */
  private String fairRule(boolean last) {
    if (last) {
      switch (random.nextInt(5)) {
        case 0: return fair("user", true, null);
        case 1: return fair("primaryGroup", true, null);
        case 2: return fair("reject", true, null);
        case 3: return fair("nestedUserQueue", true, any("primaryGroup", "default"), true);
        default: return fair("default", true, null);
      }
    }
    switch (random.nextInt(6)) {
      case 0: return fair("specified", random.nextBoolean(), null);
      case 1: return fair("secondaryGroupExistingQueue", true, null);
      case 2: return fair(any("user", "primaryGroup", "default"), false, null);
      case 3: return fair("nestedUserQueue", random.nextBoolean(),
          any("specified", "secondaryGroupExistingQueue"), random.nextBoolean());
      case 4: return fair("nestedUserQueue", true, any("primaryGroup", "default"), false);
      default: return fair(any("user", "primaryGroup"), false, any("default", "specified"), true);
    }
  }

  private String fair(String name, boolean create, String parent) {
    return fair(name, create, parent, false);
  }

  private String fair(String name, boolean create, String parent, boolean parentCreate) {
    String below = "root.";
    String condition = "";
    if (parent != null) {
      below = parent.equals("default") ? "root.groups." : fairVariable(parent) + ".";
      condition = parent.equals("specified") ? "\"named\":true" : "";
    }
    String path = name.equals("default") ? "root.users.zed"
        : below + fairVariable(name).substring("root.".length());
    boolean specified = name.equals("specified");
    boolean creates = create && !name.equals("secondaryGroupExistingQueue");
    if (name.equals("reject")) {
      ours.reject("");
    } else {
      boolean above = parentCreate && !"secondaryGroupExistingQueue".equals(parent);
      ours.add(specified ? "\"named\":true" : condition, path, !creates ? ""
          : parent == null || above ? "all" : "leaf", specified && create ? "reject" : "next");
    }
    String queue = name.equals("default") ? " queue=\"users.zed\"" : "";
    String text = "<rule name=\"" + name + "\" create=\"" + create + "\"" + queue + ">";
    return text + (parent == null ? "" : "<rule name=\"" + parent + "\" create=\"" + parentCreate
        + "\"" + (parent.equals("default") ? " queue=\"groups\"" : "") + "/>") + "</rule>";
  }

  private static String fairVariable(String name) {
    switch (name) {
      case "specified": return "root.%specified";
      case "primaryGroup": return "root.%primary_group";
      case "secondaryGroupExistingQueue": return "root.%group";
      default: return "root.%user";
    }
  }

  @Test
  public void rulesOfFairScheduler() throws Exception {
    File file = folder.newFile("fair-scheduler.xml");
    String queues = fairQueues();
    conf.set("yarn.scheduler.fair.allocation.file", file.getPath());
    write(file, "<?xml version=\"1.0\"?><allocations>" + queues + "</allocations>");
    FairScheduler stock = start(FairScheduler.class);
    int unusable = 0;
    for (int sets = 0; sets < RULE_SETS; sets++) {
      ours.clear();
      StringBuilder rules = new StringBuilder();
      for (int i = random.nextInt(4); i > 0; i--) {
        rules.append(fairRule(false));
      }
      rules.append(fairRule(true));
      write(file, "<?xml version=\"1.0\"?><allocations>" + queues + "<queuePlacementPolicy>" + rules
          + "</queuePlacementPolicy></allocations>");
      stock.reinitialize(conf, rm.getRMContext());
      PolicyConfig config = ours.config();
      for (int i = 0; i < SUBMISSIONS; i++) {
        String user = any(USERS);
        String queue = any(QUEUES);
        String name = any(NAMES);
        Placement.Outcome found = StockRules.place(config, user, GROUPS.get(user), name, queue);
        count(found, config);
        String wanted = fairQueue(user, queue, name);
        if (wanted != null && !isUsable(stock, wanted)) {
          unusable++; // there it is refused; here the next rule is asked
          assertNotEquals(wanted, found.queue);
        } else {
          assertEquals(user + " " + GROUPS.get(user) + " " + queue + " by " + rules + " ours "
              + found.rule + found.why, wanted, found.queue);
        }
      }
    }
    assertTrue(unusable + " of them", unusable < RULE_SETS * SUBMISSIONS / 5);
    assertTrue(created + " created, " + refused + " refused", created > 20 && refused > 20);
  }

  private String fairQueue(String user, String queue, String name) {
    try {
      ApplicationPlacementContext placed = rm.getRMContext().getQueuePlacementManager()
          .placeApplication(submission(queue, name), user);
      return placed == null ? null : placed.getQueue();
    } catch (YarnException e) {
      return null;
    }
  }

  /** Whether an application can run there: in a leaf, or one that may be made. */
  private static boolean isUsable(FairScheduler stock, String path) {
    FSQueue exact = stock.getQueueManager().getQueue(path);
    if (exact != null) {
      return exact instanceof FSLeafQueue;
    }
    String above = path;
    FSQueue known = null;
    while (known == null) {
      above = above.substring(0, above.lastIndexOf('.'));
      known = stock.getQueueManager().getQueue(above);
    }
    return !(known instanceof FSLeafQueue);
  }

  private static void write(File file, String text) throws IOException {
    Files.write(file.toPath(), text.getBytes(StandardCharsets.UTF_8));
  }
}
