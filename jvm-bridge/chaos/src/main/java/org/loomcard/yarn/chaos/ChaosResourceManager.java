package org.loomcard.yarn.chaos;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.api.protocolrecords.AddToClusterNodeLabelsRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.RefreshNodesRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.ReplaceLabelsOnNodeRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.UpdateNodeResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.AdminService;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.loomcard.yarn.LoomcardScheduler;
import org.loomcard.yarn.bridge.BridgeStatus;
import org.loomcard.yarn.bridge.ConfigSwapResult;
import org.loomcard.yarn.chaos.load.CommandLoop;
import org.loomcard.yarn.rounds.BridgeCounters;

/**
 * The production ResourceManager in a JVM of its own, without its web pages. It reports its state
 * and carries out what an administrator does. The argument is its configuration.
 */
public final class ChaosResourceManager extends ResourceManager {
  /** The one node label; the default partition is the only other one. */
  static final String LABEL = "special";

  private final MachineWatch machine = MachineWatch.start();

  private ChaosResourceManager() {
  }

  @Override
  protected void startWepApp() {
    // No page is needed, and a port could be taken already.
  }

  /** Starts it and serves commands until standard input ends. */
  public static void main(String[] arguments) {
    try {
      serve(arguments[0]);
    } catch (Exception | Error e) {
      e.printStackTrace();
      System.exit(1);
    }
    System.exit(0);
  }

  private static void serve(String configuration) throws Exception {
    CommandLoop commands = new CommandLoop();
    YarnConfiguration conf = new YarnConfiguration();
    conf.addResource(new Path(new File(configuration).toURI()));
    ChaosResourceManager manager = new ChaosResourceManager();
    manager.init(conf);
    manager.start();
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("epoch_ms", ResourceManager.getClusterTimeStamp());
    commands.event("started", facts);
    commands.serve(manager::handle);
    manager.stop();
  }

  private AdminService admin() {
    return getRMContext().getRMAdminService();
  }

  private LoomcardScheduler loomcard() {
    return (LoomcardScheduler) getResourceScheduler();
  }

  private Object handle(String name, JsonNode command) throws Exception {
    switch (name) {
      case "state": return new SchedulerState(loomcard(), getRMContext()).read();
      case "ends": return new SchedulerState(loomcard(), getRMContext()).ends();
      case "role": return getRMContext().getHAServiceState().toString();
      case "figures": return figures(command.path("collect").asBoolean());
      case "pauses": return machine.drain();
      case "quiet": return loomcard().bridge().awaitDecisions(command.path("ms").asLong());
      case "swap": return swap(command.path("yaml").asText(), command.path("name").asText());
      case "resize": return resize(command);
      case "relabel": return relabel(command);
      case "exclude": return exclude(command.path("hosts").asText());
      default: throw new IllegalArgumentException("unknown command " + name);
    }
  }

  private Object swap(String yaml, String name) {
    ConfigSwapResult result = loomcard().status().apply(yaml, name, "chaos");
    return Arrays.asList(result.outcome.toString(), result.message);
  }

  private Object resize(JsonNode command) throws Exception {
    NodeId node = NodeId.fromString(command.path("node").asText());
    Resource size = Resource.newInstance(command.path("memory_mb").asLong(),
        command.path("vcores").asInt());
    admin().updateNodeResource(UpdateNodeResourceRequest.newInstance(
        Collections.singletonMap(node, ResourceOption.newInstance(size, -1))));
    return true;
  }

  private Object relabel(JsonNode command) throws Exception {
    NodeId node = NodeId.fromString(command.path("node").asText());
    String label = command.path("label").asText();
    admin().addToClusterNodeLabels(AddToClusterNodeLabelsRequest.newInstance(
        Collections.singletonList(NodeLabel.newInstance(LABEL))));
    admin().replaceLabelsOnNode(ReplaceLabelsOnNodeRequest.newInstance(Collections.singletonMap(
        node, label.isEmpty() ? Collections.emptySet() : Collections.singleton(label))));
    return true;
  }

  private Object exclude(String hosts) throws Exception {
    Files.write(Paths.get(getConfig().get(YarnConfiguration.RM_NODES_EXCLUDE_FILE_PATH)),
        hosts.getBytes(StandardCharsets.UTF_8));
    admin().refreshNodes(RefreshNodesRequest.newInstance());
    return true;
  }

  /** Returns the figures that may grow, and the state of the bridge. */
  private Map<String, Object> figures(boolean collect) {
    if (collect) {
      System.gc();
    }
    Map<String, Object> figures = new LinkedHashMap<>();
    figures.put("heap_mb", ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
        >> 20);
    figures.put("threads", ManagementFactory.getThreadMXBean().getThreadCount());
    String[] open = new File("/proc/self/fd").list();
    figures.put("files", open == null ? 0 : open.length);
    RMContext context = getRMContext();
    figures.put("ready", !context.isWorkPreservingRecoveryEnabled()
        || context.isSchedulerReadyForAllocatingContainers());
    BridgeStatus status = loomcard().bridge().status();
    BridgeCounters counters = status.counters;
    figures.put("bridge", status.state.toString());
    figures.put("process", status.process);
    figures.put("config", status.applied.policyConfig.source);
    figures.put("version", status.applied.version);
    figures.put("last_failure", status.lastFailure);
    figures.put("rounds", counters.rounds());
    figures.put("allocated", loomcard().metrics().allocatedByPolicy());
    figures.put("allocated_by_fallback", loomcard().metrics().allocatedByFallback());
    figures.put("refused", loomcard().metrics().refused());
    figures.put("failures", counters.failures());
    figures.put("resyncs", counters.resyncs());
    return figures;
  }
}
