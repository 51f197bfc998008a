package org.loomcard.yarn.embedded;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.util.ShutdownHookManager;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.ClusterMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;

/**
 * One JVM with a real ResourceManager and N real NodeManagers, each with its own host name.
 *
 * <p>Everything else is configuration, read from the class path. Standard output carries one JSON
 * line when the cluster is ready and one for every command read from standard input:
 * {@code restart-rm}, {@code stop-node NAME}, {@code start-node NAME}, {@code stop}. The end of
 * standard input stops the cluster too (unless {@code --stay}), so that it does not outlive
 * the process that started it.
 */
public final class EmbeddedCluster {
  private static final long READY_DEADLINE_MS = 60_000;
  /** Killing containers takes a second; the rest is idle waiting for log files to grow old. */
  private static final long STOP_DEADLINE_MS = 4_000;
  private static final int HOOK_PRIORITY = 50;
  /** Marks the lines for the launcher among the lines that libraries may print. */
  private static final String MARK = "@loomcard ";

  private final Configuration conf;
  private final List<NodeHost> nodes = new ArrayList<>();
  private ResourceManager resourceManager;
  private boolean stopped;

  private EmbeddedCluster(Options options) throws IOException {
    conf = new YarnConfiguration();
    if (options.scheduler() != null) {
      conf.set(YarnConfiguration.RM_SCHEDULER, options.scheduler());
    }
    for (Machine machine : options.machines()) {
      nodes.add(new NodeHost(machine, conf, new File(options.work(), "nodes")));
    }
  }

  /** Runs the cluster until a stop command; exits 2 for bad arguments, 1 for a failed start. */
  public static void main(String[] args) throws Exception {
    Options options;
    try {
      options = Options.parse(args);
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.exit(2);
      return;
    }
    EmbeddedCluster cluster = new EmbeddedCluster(options);
    ShutdownHookManager.get().addShutdownHook(cluster::stop, HOOK_PRIORITY);
    PrintStream out = System.out;
    try {
      cluster.start();
    } catch (Exception e) {
      e.printStackTrace();
      say(out, "failed", quoted("error", String.valueOf(e)));
      System.exit(1);
    }
    say(out, "ready", cluster.ports());
    cluster.obey(out, options.stay());
    System.exit(0);
  }

  private void start() throws InterruptedException {
    // Several daemons of one kind share this JVM; their metrics sources would clash otherwise.
    DefaultMetricsSystem.setMiniClusterMode(true);
    startResourceManager();
    for (NodeHost node : nodes) {
      node.start();
    }
    awaitRunning(nodes.size());
  }

  private synchronized void startResourceManager() {
    ResourceManager fresh = new ResourceManager();
    fresh.init(new YarnConfiguration(conf));
    resourceManager = fresh;
    fresh.start();
  }

  /** Only the ResourceManager stops and starts again; NodeManagers and containers keep running. */
  private void restartResourceManager() throws InterruptedException {
    resourceManager.stop();
    forgetClusterMetrics();
    QueueMetrics.clearQueueMetrics();
    startResourceManager();
    awaitRunning(nodes.size());
  }

  /** Calls {@code ClusterMetrics.destroy}, which is not public before 3.3. */
  private static void forgetClusterMetrics() {
    try {
      Method destroy = ClusterMetrics.class.getDeclaredMethod("destroy");
      destroy.setAccessible(true);
      destroy.invoke(null);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  private void awaitRunning(int wanted) throws InterruptedException {
    long deadline = System.nanoTime() + READY_DEADLINE_MS * 1_000_000L;
    while (running() < wanted) {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException(running() + " of " + wanted
            + " nodes are running after " + READY_DEADLINE_MS + " ms; see the log");
      }
      Thread.sleep(20);
    }
  }

  private int running() {
    int count = 0;
    for (RMNode node : resourceManager.getRMContext().getRMNodes().values()) {
      if (node.getState() == NodeState.RUNNING) {
        count++;
      }
    }
    return count;
  }

  private void obey(PrintStream out, boolean stay) throws Exception {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.trim().split("\\s+");
      if (words[0].equals("stop")) {
        return;
      }
      try {
        carryOut(words);
        say(out, "done", quoted("command", line.trim()));
      } catch (RuntimeException e) {
        e.printStackTrace();
        say(out, "failed", quoted("error", String.valueOf(e)));
      }
    }
    if (stay) {
      new CountDownLatch(1).await();
    }
  }

  private void carryOut(String[] words) throws InterruptedException {
    if (words[0].equals("restart-rm")) {
      restartResourceManager();
    } else if (words[0].equals("stop-node") && words.length == 2) {
      node(words[1]).stop();
    } else if (words[0].equals("start-node") && words.length == 2) {
      node(words[1]).start();
    } else {
      throw new IllegalArgumentException(
          "expected restart-rm, stop-node NAME, start-node NAME or stop");
    }
  }

  private NodeHost node(String name) {
    for (NodeHost node : nodes) {
      if (node.name().equals(name)) {
        return node;
      }
    }
    throw new IllegalArgumentException("no node " + name + " among " + nodes.size());
  }

  /** Nodes first, so that the ResourceManager still hears that their containers are killed. */
  private void stop() {
    synchronized (this) {
      if (stopped) {
        return;
      }
      stopped = true;
    }
    List<Thread> stopping = new ArrayList<>();
    for (NodeHost node : nodes) {
      Thread thread = new Thread(node::stop, "stop " + node.name());
      thread.start();
      stopping.add(thread);
    }
    try {
      long deadline = System.nanoTime() + STOP_DEADLINE_MS * 1_000_000L;
      for (Thread thread : stopping) {
        thread.join(Math.max(1, (deadline - System.nanoTime()) / 1_000_000L));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (resourceManager != null) {
      resourceManager.stop();
    }
  }

  private String ports() {
    return quoted("pid", ManagementFactory.getRuntimeMXBean().getName().split("@")[0])
        + "," + quoted("web", conf.get(YarnConfiguration.RM_WEBAPP_ADDRESS))
        + "," + quoted("rm", conf.get(YarnConfiguration.RM_ADDRESS))
        + "," + quoted("scheduler", conf.get(YarnConfiguration.RM_SCHEDULER));
  }

  private static void say(PrintStream out, String kind, String fields) {
    out.println(MARK + "{" + quoted("event", kind) + "," + fields + "}");
    out.flush();
  }

  private static String quoted(String key, String value) {
    return '"' + key + "\":\"" + new String(
        JsonStringEncoder.getInstance().quoteAsString(value)) + '"';
  }
}
