package org.loomcard.yarn.web;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.loomcard.yarn.bridge.BridgeSamples;
import org.loomcard.yarn.bridge.BridgeStatus;
import org.loomcard.yarn.bridge.ConfigSwapResult;
import org.loomcard.yarn.config.AppliedConfig;
import org.loomcard.yarn.config.ApplyToken;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.json.MessageException;
import org.loomcard.yarn.status.ExplanationStatus;
import org.loomcard.yarn.status.LabelStatus;
import org.loomcard.yarn.status.QueueLimitStatus;
import org.loomcard.yarn.status.QueueStatus;
import org.loomcard.yarn.status.ReservationStatus;
import org.loomcard.yarn.status.StatusSource;
import org.loomcard.yarn.status.UserStatus;
import org.loomcard.yarn.status.WaitingApplication;
import org.loomcard.yarn.status.WaitingStatus;

/** A status with one of everything, and an answer to {@code apply} that the test chooses. */
final class SampleStatus implements StatusSource {
  private static final String QUEUE = "{\"administer\":[\"*\"],\"am_share_ppm\":1000000,"
      + "\"guaranteed\":{\"ppm\":500000},\"maximum\":{\"ppm\":1000000},\"policy_named\":true,"
      + "\"user_limit_ppm\":1000000,\"walked\":false,";
  private static final String LIMITS = "\"state\":\"stopped\",\"maximum_applications\":20,"
      + "\"maximum_applications_per_user\":3,\"maximum_allocation\":{\"memory_mb\":8192},"
      + "\"maximum_lifetime_s\":3600,\"labels\":[\"gpu\"],\"default_label\":\"gpu\","
      + "\"label_maximum_ppm\":{\"gpu\":500000},\"label_guaranteed_ppm\":{\"gpu\":250000},";
  private static final String CONFIG = "{\"hash\":\"9f2c4e\",\"needs\":[],\"queues\":["
      + QUEUE + "\"leaf\":false,\"options\":{},\"parent\":null,\"path\":\"root\","
      + "\"policy\":\"drf\",\"submit\":[\"*\"],\"weight\":1.0},"
      + QUEUE + LIMITS
      + "\"leaf\":true,\"options\":{\"patience_ms\":5},\"parent\":0,\"path\":\"root.a\","
      + "\"policy\":\"fifo\",\"submit\":[\"alice\",\"group:data\"],\"weight\":2.0}],"
      + "\"schema\":1,\"source\":\"two.yml\"}";
  static final String REPORT = "{\"theta\":0.1,\"7 of <b>\":[1,2]}";
  private static final String TYPED = "{\"figures\":[{\"label\":\"small\",\"name\":\"d\","
      + "\"unit\":\"share\",\"value\":0.375},{\"label\":\"free\",\"name\":\"f\","
      + "\"unit\":\"containers\",\"value\":1200}],\"tables\":[{\"columns\":[{\"label\":\"job\","
      + "\"name\":\"j\"},{\"label\":\"asked\",\"name\":\"a\",\"unit\":\"MB\"}],\"label\":\"jobs\","
      + "\"name\":\"jobs\",\"rows\":[[\"<i>\",4096]]},{\"columns\":[],\"label\":\"nothing\","
      + "\"name\":\"n\",\"rows\":[]}],\"typed\":1}";
  static final AppliedConfig GOVERNING = governing();

  final List<String> applied = Collections.synchronizedList(new ArrayList<String>());
  final List<String> tried = Collections.synchronizedList(new ArrayList<String>());
  final List<String> users = Collections.synchronizedList(new ArrayList<String>());
  final List<Integer> limits = Collections.synchronizedList(new ArrayList<Integer>());
  /** By kind and name. */
  final Map<String, ExplanationStatus> explanations = new HashMap<>();
  volatile ConfigSwapResult answer;
  volatile boolean recovered = true;
  volatile boolean starting;
  volatile List<String> lacking = Collections.emptyList();
  volatile ApplyToken token;

  private static AppliedConfig governing() {
    try {
      return new AppliedConfig(PolicyConfig.read(CONFIG), 3, "policy: drf\n");
    } catch (MessageException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public BridgeStatus bridge() {
    if (starting) {
      return null;
    }
    Map<String, String> reports = new LinkedHashMap<>();
    reports.put("root", TYPED);
    reports.put("root.a", REPORT);
    return BridgeSamples.status(GOVERNING, reports, recovered);
  }

  @Override
  public long startedAtMs() {
    return 1_790_000_000_000L;
  }

  @Override
  public List<String> lacking() {
    return lacking;
  }

  @Override
  public long allocatedByPolicy() {
    return 96;
  }

  @Override
  public long allocatedByFallback() {
    return 4;
  }

  @Override
  public Map<String, Long> refusals() {
    return Collections.singletonMap("NODE_FULL", 2L);
  }

  @Override
  public int nodes() {
    return 3;
  }

  @Override
  public Map<String, Long> capacity() {
    return amounts(24576, 24);
  }

  @Override
  public Map<String, Long> smallest() {
    return amounts(1024, 1);
  }

  @Override
  public Map<String, Long> largest() {
    return amounts(8192, 8);
  }

  @Override
  public Map<String, String> nodeLabels() {
    Map<String, String> labels = new LinkedHashMap<>();
    labels.put("n1:45454", "");
    labels.put("n2:45454", "gpu");
    return labels;
  }

  @Override
  public Map<String, Map<String, Long>> partitions() {
    Map<String, Map<String, Long>> partitions = new LinkedHashMap<>();
    partitions.put("", amounts(20480, 20));
    partitions.put("gpu", amounts(4096, 4));
    return partitions;
  }

  @Override
  public Map<String, List<UserStatus>> users() {
    return Collections.singletonMap("root.a",
        Collections.singletonList(new UserStatus("alice", amounts(6144, 3), amounts(1024, 1), 1,
            1, true)));
  }

  @Override
  public Map<String, QueueStatus> queues() {
    Map<String, QueueStatus> queues = new LinkedHashMap<>();
    QueueStatus.Demand pending = new QueueStatus.Demand(amounts(4096, 4), 3);
    QueueStatus.Demand reserved = new QueueStatus.Demand(amounts(2048, 1), 1);
    queues.put("root", new QueueStatus(amounts(24576, 24), amounts(24576, 24), amounts(6144, 3),
        pending, reserved, 1, 3, new QueueLimitStatus("running", amounts(24576, 24), amounts(0, 0),
            Collections.<String, Integer>emptyMap(), Collections.<String, LabelStatus>emptyMap())));
    queues.put("root.a", new QueueStatus(amounts(12288, 12), amounts(24576, 24),
        amounts(6144, 3), pending, reserved, 1, 3, new QueueLimitStatus("draining",
            amounts(10240, 7), amounts(1024, 1), Collections.singletonMap("alice", 2),
            Collections.singletonMap("gpu",
                new LabelStatus(amounts(1024, 1), amounts(512, 1),
                    amounts(256, 0), amounts(2048, 2), amounts(1024, 1),
                    amounts(0, 0))))));
    return queues;
  }

  @Override
  public WaitingStatus waiting(int limit) {
    limits.add(limit);
    return new WaitingStatus(7, 2_000_000, 3_000_000,
        Collections.singletonList(new WaitingApplication("application_1790000000000_0001",
        "<img src=x onerror=alert(1)>", "alice", "root.a", Arrays.asList(
            new WaitingApplication.WaitingAsk(20, 0, 4, amounts(1024, 1), "NODE_FULL", null),
            new WaitingApplication.WaitingAsk(10, 7, 1, amounts(2048, 1), "SHARE",
                1_790_000_060_000L)))));
  }

  @Override
  public List<ReservationStatus> reservations() {
    return Collections.singletonList(new ReservationStatus(
        "application_1790000000000_0001", "root.a",
        "n1:45454", 10, 7, amounts(2048, 1), 1_790_000_000_250L));
  }

  @Override
  public ApplyToken token() {
    return token;
  }

  @Override
  public List<AppliedConfig> history() {
    return Arrays.asList(GOVERNING,
        new AppliedConfig(GOVERNING.policyConfig, 2, "policy: fifo\n", "alice", 1_790_000_000_500L),
        new AppliedConfig(GOVERNING.policyConfig, 1, null));
  }

  @Override
  public ConfigSwapResult apply(String yaml, String name, String user) {
    users.add(user);
    applied.add(name + ": " + yaml);
    return answer;
  }

  @Override
  public ConfigSwapResult dryRun(String yaml, String name) {
    tried.add(name + ": " + yaml);
    return answer;
  }

  @Override
  public ExplanationStatus explain(String kind, String name) {
    return explanations.get(kind + " " + name);
  }

  private static Map<String, Long> amounts(long memory, long vcores) {
    Map<String, Long> amounts = new LinkedHashMap<>();
    amounts.put("memory_mb", memory);
    amounts.put("vcores", vcores);
    return amounts;
  }
}
