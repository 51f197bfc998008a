package org.loomcard.yarn.chaos.load;

import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException;
import org.apache.hadoop.yarn.security.AMRMTokenIdentifier;
import org.apache.hadoop.yarn.server.api.ResourceTracker;
import org.apache.hadoop.yarn.server.api.ServerRMProxy;

/** Virtual nodes and masters, and the threads that send their heartbeats. */
public final class VirtualCluster {
  private static final int USERS = 4;
  private static final int BEAT_MS = 200;
  private static final int STEP_MS = 120;
  private static final int PROBE_STEP_MS = 50;
  private static final long TOKEN_PAUSE_MS = 50;

  /** Makes a master when its application has been accepted. */
  interface Maker<M extends VirtualMaster> {
    M make(ApplicationId id, UserGroupInformation user) throws Exception;
  }

  final Configuration conf;
  final Findings findings;
  private final List<VirtualNode> nodes = new ArrayList<>();
  private final Map<NodeId, VirtualNode> nodesById = new ConcurrentHashMap<>();
  private final List<VirtualMaster> masters = new CopyOnWriteArrayList<>();
  private final Map<String, YarnClient> clients = new ConcurrentHashMap<>();
  private final ScheduledExecutorService nodeThreads = threads("chaos-nodes", 8);
  private final ScheduledExecutorService masterThreads = threads("chaos-masters", 32);
  private final AtomicInteger submissions = new AtomicInteger();
  private final AtomicInteger starting = new AtomicInteger();
  private volatile ProbeMaster probe;
  private volatile boolean frozen;
  private volatile boolean closing;

  public VirtualCluster(Configuration conf, Findings findings) {
    this.conf = conf;
    this.findings = findings;
  }

  private static ScheduledExecutorService threads(String name, int count) {
    return Executors.newScheduledThreadPool(count, runnable -> {
      Thread thread = new Thread(runnable, name);
      thread.setDaemon(true);
      return thread;
    });
  }

  public void start(int nodeCount, Resource nodeSize, int applications, long seed)
      throws Exception {
    ResourceTracker tracker = ServerRMProxy.createRMProxy(conf, ResourceTracker.class);
    for (int i = 0; i < nodeCount; i++) {
      VirtualNode node = new VirtualNode(tracker, findings, i, nodeSize);
      nodes.add(node);
      nodesById.put(node.id(), node);
      every(nodeThreads, BEAT_MS, "a heartbeat of " + node.id(), () -> node.beat(frozen));
    }
    probe = submit("probe", "root.probe", ProbeMaster.class.getSimpleName(),
        (id, user) -> new ProbeMaster(this, id, user));
    every(masterThreads, PROBE_STEP_MS, "the probe", () -> step(probe));
    for (int i = 0; i < applications; i++) {
      long first = seed * 1000 + i;
      masterThreads.execute(() -> keepRunning(first));
    }
  }

  private interface Beat {
    void run() throws Exception;
  }

  private void every(ScheduledExecutorService threads, long ms, String what, Beat beat) {
    threads.scheduleWithFixedDelay(() -> {
      try {
        beat.run();
      } catch (Exception | Error e) {
        findings.count(what.split(" of ")[0] + " failed: " + e.getClass().getSimpleName());
        e.printStackTrace();
      }
    }, 0, ms, TimeUnit.MILLISECONDS);
  }

  private void step(VirtualMaster master) throws Exception {
    if (!master.isOver()) {
      master.step(frozen);
    }
  }

  /** One slot in which ordinary applications follow each other. */
  private void keepRunning(long seed) {
    if (closing) {
      return;
    }
    if (frozen) {
      masterThreads.schedule(() -> keepRunning(seed), STEP_MS, TimeUnit.MILLISECONDS);
      return;
    }
    try {
      String queue = seed % 2 == 0 ? "root.load.a" : "root.load.b";
      TaskMaster master = submit("u" + seed % USERS, queue, "tasks",
          (id, user) -> new TaskMaster(this, id, user, seed));
      drive(master, () -> keepRunning(seed + 100));
    } catch (Exception e) {
      findings.violation("application not started", e.toString());
      e.printStackTrace();
    }
  }

  public void startGreedy(String kind, int count, long lastsMs) throws Exception {
    drive(submit("greedy", "root.greedy", kind,
        (id, user) -> new GreedyMaster(this, id, user, kind, count, lastsMs)), () -> { });
  }

  private void drive(VirtualMaster master, Runnable then) {
    masterThreads.schedule(() -> {
      try {
        step(master);
      } catch (Exception | Error e) {
        findings.count("a master's heartbeat failed: " + e.getClass().getSimpleName());
        e.printStackTrace();
      }
      if (master.isOver()) {
        masters.remove(master);
        checkEnd(master);
        then.run();
      } else {
        drive(master, then);
      }
    }, STEP_MS, TimeUnit.MILLISECONDS);
  }

  private void checkEnd(VirtualMaster master) {
    try {
      ApplicationReport report = client("probe").getApplicationReport(master.id);
      long end = System.currentTimeMillis() + TimeUnit.SECONDS.toMillis(20);
      while (report.getYarnApplicationState() != YarnApplicationState.FINISHED
          && System.currentTimeMillis() < end) {
        Thread.sleep(TOKEN_PAUSE_MS);
        report = client("probe").getApplicationReport(master.id);
        if (report.getYarnApplicationState() == YarnApplicationState.ACCEPTED) {
          findings.count("ends that a restart swallowed");
          master.endAgain();
        }
      }
      if (report.getFinalApplicationStatus() == FinalApplicationStatus.SUCCEEDED) {
        findings.count("applications that succeeded");
      } else {
        findings.violation("application not successful", master.id + " ended "
            + report.getYarnApplicationState() + ": " + report.getDiagnostics());
      }
    } catch (ApplicationNotFoundException e) {
      findings.count("applications that were forgotten before they were looked at");
    } catch (Exception e) {
      findings.violation("application not successful", master.id + ": " + e);
    } finally {
      master.close();
    }
  }

  private <M extends VirtualMaster> M submit(String userName, String queue, String name,
      Maker<M> maker) throws Exception {
    starting.incrementAndGet();
    try {
      YarnClient client = client(userName);
      ApplicationSubmissionContext context =
          client.createApplication().getApplicationSubmissionContext();
      context.setApplicationName(name + " " + submissions.incrementAndGet());
      context.setQueue(queue);
      context.setUnmanagedAM(true);
      context.setResource(Resource.newInstance(64, 1));
      context.setAMContainerSpec(ContainerLaunchContext.newInstance(Collections.emptyMap(),
          Collections.emptyMap(), Collections.emptyList(), Collections.emptyMap(), null,
          Collections.emptyMap()));
      client.submitApplication(context);
      ApplicationId id = context.getApplicationId();
      UserGroupInformation user = UserGroupInformation.createRemoteUser(userName + "@" + id);
      user.addToken(awaitToken(client, id));
      M master = maker.make(id, user);
      masters.add(master);
      return master;
    } finally {
      starting.decrementAndGet();
    }
  }

  private static Token<AMRMTokenIdentifier> awaitToken(YarnClient client, ApplicationId id)
      throws Exception {
    Token<AMRMTokenIdentifier> token = client.getAMRMToken(id);
    while (token == null) {
      Thread.sleep(TOKEN_PAUSE_MS);
      token = client.getAMRMToken(id);
    }
    return token;
  }

  private synchronized YarnClient client(String user) throws Exception {
    YarnClient client = clients.get(user);
    if (client == null) {
      client = UserGroupInformation.createRemoteUser(user).doAs(
          (PrivilegedExceptionAction<YarnClient>) () -> {
            YarnClient made = YarnClient.createYarnClient();
            made.init(conf);
            made.start();
            return made;
          });
      clients.put(user, client);
    }
    return client;
  }

  public VirtualNode node(NodeId id) {
    return nodesById.get(id);
  }

  public VirtualNode node(int index) {
    return nodes.get(index % nodes.size());
  }

  String host(int index) {
    return node(index).id().getHost();
  }

  /** If frozen, nothing new is requested and nothing ends; older asks are still allocated. */
  public void freeze(boolean on) {
    frozen = on;
  }

  /** From now on no application follows another, and the present ones come to their end. */
  public void close() {
    closing = true;
    frozen = false;
    probe.stopAsking();
    masters.forEach(master -> {
      if (master instanceof TaskMaster) {
        ((TaskMaster) master).hurry();
      }
    });
  }

  /**
   * Returns the containers on the nodes, what each application waits for, and what is in progress.
   */
  public Map<String, Object> state() {
    Map<String, Object> containers = new TreeMap<>();
    int owing = 0;
    List<String> up = new ArrayList<>();
    for (VirtualNode node : nodes) {
      node.writeTo(containers);
      owing += node.owesReports() ? 1 : 0;
      if (node.isUp()) {
        up.add(node.id().toString());
      }
    }
    Map<String, Object> waiting = new TreeMap<>();
    masters.stream().filter(master -> !master.isOver())
        .forEach(master -> waiting.put(master.id.toString(), master.outstanding()));
    Map<String, Object> state = new LinkedHashMap<>();
    state.put("containers", containers);
    state.put("outstanding", waiting);
    state.put("nodes", up);
    state.put("nodes_that_owe_reports", owing);
    state.put("unregistered_masters", masters.stream()
        .filter(master -> !master.isOver() && !master.isRegistered()).count());
    state.put("starting", starting.get());
    state.put("probe_waits_since_ms", probe == null ? 0 : probe.waitingSinceMs());
    return state;
  }
}
