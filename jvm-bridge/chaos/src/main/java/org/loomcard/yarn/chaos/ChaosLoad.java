package org.loomcard.yarn.chaos;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.loomcard.yarn.chaos.load.CommandLoop;
import org.loomcard.yarn.chaos.load.Findings;
import org.loomcard.yarn.chaos.load.VirtualCluster;

/**
 * The load in a JVM of its own, so that it outlives each ResourceManager: virtual nodes and masters
 * that use YARN's own protocols. The argument is their configuration.
 */
public final class ChaosLoad {
  private final MachineWatch machine = MachineWatch.start();
  private final VirtualCluster cluster;
  private final Findings findings;

  private ChaosLoad(YarnConfiguration conf, CommandLoop commands) {
    findings = new Findings(commands);
    cluster = new VirtualCluster(conf, findings);
  }

  /** Serves commands until standard input ends. */
  public static void main(String[] arguments) throws Exception {
    CommandLoop commands = new CommandLoop();
    YarnConfiguration conf = new YarnConfiguration();
    conf.addResource(new Path(new File(arguments[0]).toURI()));
    commands.serve(new ChaosLoad(conf, commands)::handle);
    System.exit(0);
  }

  private Object handle(String name, JsonNode command) throws Exception {
    int node = command.path("node").asInt();
    switch (name) {
      case "start":
        cluster.start(command.path("nodes").asInt(),
            Resource.newInstance(command.path("memory_mb").asInt(),
                command.path("vcores").asInt()),
            command.path("applications").asInt(), command.path("seed").asLong());
        return true;
      case "freeze": cluster.freeze(command.path("on").asBoolean()); return true;
      case "close": cluster.close(); return true;
      case "state": return cluster.state();
      case "counts": return findings.counts();
      case "pauses": return machine.drain();
      case "leave": cluster.node(node).leave(command.path("politely").asBoolean()); return true;
      case "return": cluster.node(node).comeBack(); return true;
      case "silence": cluster.node(node).beSilent(command.path("ms").asLong()); return true;
      case "name": return cluster.node(node).id().toString();
      case "greedy":
        cluster.startGreedy(command.path("kind").asText(), command.path("count").asInt(),
            command.path("lasts_ms").asLong());
        return true;
      case "figures": return figures();
      default: throw new IllegalArgumentException("unknown command " + name);
    }
  }

  private static Map<String, Object> figures() {
    Map<String, Object> figures = new LinkedHashMap<>();
    figures.put("heap_mb", ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
        >> 20);
    figures.put("threads", ManagementFactory.getThreadMXBean().getThreadCount());
    return figures;
  }
}
