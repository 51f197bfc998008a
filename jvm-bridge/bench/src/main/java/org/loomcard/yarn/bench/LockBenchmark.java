package org.loomcard.yarn.bench;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.util.ExitUtil;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;

/**
 * Measures who keeps the scheduler's lock, and for how long, in a large cluster, and how long an
 * ordinary user waits for a container there: at rest, with one user at every bound, while all nodes
 * get a label, and while the policy process is replaced. Prints one JSON object per phase on
 * standard output.
 */
public final class LockBenchmark {
  private static final int LOOK_MS = 5;
  private static final int DEADLINE_MS = 180_000;
  private static final int GREEDY = 50;
  private static final int PHASE_MS = 20_000;
  private static final double NANOS_PER_MS = 1e6;

  /** What YARN's own parts know of an application; here nothing. */
  private static final RMApp APPLICATION = (RMApp) Proxy.newProxyInstance(
      RMApp.class.getClassLoader(), new Class<?>[] {RMApp.class}, (self, method, arguments) -> {
        Class<?> type = method.getReturnType();
        return type == Set.class ? Collections.emptySet()
            : type == Map.class ? Collections.emptyMap() : type == int.class ? (Object) 0
            : type == long.class ? (Object) 0L : type == boolean.class ? (Object) false
            : type == String.class ? "load" : null;
      });

  private final BenchmarkSettings settings;
  private final BenchmarkResourceManager manager;
  private final WatchedScheduler scheduler;
  private final ObjectMapper json = new ObjectMapper();
  private final List<Double> waits = new ArrayList<>();
  private int applications;

  private LockBenchmark(BenchmarkSettings settings) throws Exception {
    this.settings = settings;
    manager = new BenchmarkResourceManager(new AllocationWatch(), node -> { });
    manager.init(SchedulerConfiguration.of(settings));
    manager.start();
    scheduler = (WatchedScheduler) manager.getResourceScheduler();
  }

  /** Runs as the arguments say; exits with 1 after a failure. */
  public static void main(String[] arguments) {
    ExitUtil.disableSystemExit();
    int status = 0;
    try {
      LockBenchmark benchmark = new LockBenchmark(new BenchmarkSettings(arguments));
      benchmark.run();
      benchmark.manager.stop();
    } catch (Throwable failure) {
      failure.printStackTrace();
      status = 1;
    }
    System.out.flush();
    System.exit(status);
  }

  private void run() throws Exception {
    await("the policy process", () -> isUp());
    warmUp();
    for (int i = 1; i < settings.nodes; i++) {
      new SimulatedNode(manager.getRMContext(), i + 1, settings.slots, settings.slots).register();
    }
    await("the nodes", () -> scheduler.getNumClusterNodes() == settings.nodes);
    report("nodes register");
    for (int i = 0; i < settings.applications; i++) {
      attempt("user" + i % settings.queues, "root.q" + i % settings.queues);
    }
    report("applications come");
    fill(attempt("carol", "root.q1"), settings.nodes * settings.slots / 4);
    report("a quarter of the cluster is given away");
    Thread beats = start(this::beat);
    ApplicationAttemptId victim = attempt("bob", "root.q0");
    serve(victim, PHASE_MS);
    report("at rest");
    List<Greedy> crowd = new ArrayList<>();
    for (int i = 0; i < GREEDY; i++) {
      crowd.add(new Greedy(scheduler, attempt("mallory", "root.q2"), i));
    }
    Thread greedy = start(() -> crowd.forEach(Greedy::call));
    serve(victim, PHASE_MS);
    report("one user at every bound");
    Thread labels = new Thread(this::relabel);
    labels.start();
    serve(victim, PHASE_MS / 4);
    labels.join();
    report("all nodes get a label, and lose it");
    Thread swap = new Thread(this::swap);
    swap.start();
    serve(victim, PHASE_MS);
    swap.join();
    report("another policy process: a snapshot");
    greedy.interrupt();
    beats.interrupt();
    System.err.println("refused requests: " + crowd.stream().mapToInt(Greedy::refused).sum());
  }

  /** Does everything once, because the first time includes the loading of classes. */
  private void warmUp() {
    new SimulatedNode(manager.getRMContext(), 1, settings.slots, settings.slots).register();
    serve(attempt("carol", "root.q1"), LOOK_MS);
    scheduler.holds.take();
    waits.clear();
  }

  private boolean isUp() {
    return scheduler.bridge().status().state.toString().equals("UP");
  }

  private ApplicationAttemptId attempt(String user, String queue) {
    ApplicationId id = ApplicationId.newInstance(1, ++applications);
    ApplicationAttemptId attempt = ApplicationAttemptId.newInstance(id, 1);
    manager.getRMContext().getRMApps().put(id, APPLICATION);
    scheduler.handle(new AppAddedSchedulerEvent(id, queue, user));
    scheduler.handle(new AppAttemptAddedSchedulerEvent(attempt, false));
    scheduler.getApplicationAttempt(attempt).setAmRunning(true);
    return attempt;
  }

  private List<Container> ask(ApplicationAttemptId attempt, int count, List<ContainerId> releases) {
    List<ResourceRequest> asks = new ArrayList<>();
    if (count > 0) {
      asks.add(ResourceRequest.newInstance(Priority.newInstance(1), "*",
          Resource.newInstance(BenchmarkSettings.MEMORY_MB_PER_SLOT, 1), count));
    }
    return scheduler.allocate(attempt, asks, null, releases, null, null, new ContainerUpdates())
        .getContainers();
  }

  private void fill(ApplicationAttemptId attempt, int count) {
    int[] got = {ask(attempt, count, new ArrayList<ContainerId>()).size()};
    await(count + " containers", () -> {
      got[0] += ask(attempt, 0, new ArrayList<ContainerId>()).size();
      return got[0] >= count;
    });
  }

  /** Asks for one container after the other, and notes how long each takes. */
  private void serve(ApplicationAttemptId attempt, int ms) {
    long end = System.nanoTime() + ms * (long) NANOS_PER_MS;
    while (System.nanoTime() < end) {
      long begin = System.nanoTime();
      List<Container> got = new ArrayList<>(ask(attempt, 1, new ArrayList<ContainerId>()));
      await("a container", () -> {
        got.addAll(ask(attempt, 0, new ArrayList<ContainerId>()));
        return !got.isEmpty();
      });
      waits.add((System.nanoTime() - begin) / NANOS_PER_MS);
      for (Container one : got) {
        ask(attempt, 0, new ArrayList<>(Collections.singletonList(one.getId())));
        scheduler.getSchedulerNode(one.getNodeId()).releaseContainer(one.getId(), true);
      }
      pause(100);
    }
  }

  /** Sends the heartbeats of a tenth of the nodes; called every tenth of a second. */
  private void beat() {
    for (RMNode node : manager.getRMContext().getRMNodes().values()) {
      if (node.hashCode() % 10 == System.nanoTime() % 10) {
        scheduler.handle(new NodeUpdateSchedulerEvent(node));
      }
    }
  }

  private void relabel() {
    for (String label : new String[] {"gpu", ""}) {
      Map<NodeId, Set<String>> all = new HashMap<>();
      Set<String> names = label.isEmpty() ? Collections.<String>emptySet()
          : Collections.singleton(label);
      manager.getRMContext().getRMNodes().keySet().forEach(id -> all.put(id, names));
      scheduler.handle(new NodeLabelsUpdateSchedulerEvent(all));
    }
  }

  private void swap() {
    try {
      scheduler.reinitialize(scheduler.getConfig(), manager.getRMContext());
    } catch (Exception e) {
      System.err.println("no swap: " + e);
    }
  }

  private void report(String phase) throws JsonProcessingException {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("phase", phase);
    Collections.sort(waits);
    line.put("waits", waits.size());
    line.put("median_wait_ms", waits.isEmpty() ? 0 : waits.get(waits.size() / 2));
    line.put("longest_wait_ms", waits.isEmpty() ? 0 : waits.get(waits.size() - 1));
    line.put("by_fallback", scheduler.metrics().allocatedByFallback());
    line.put("holds", scheduler.holds.take());
    waits.clear();
    System.out.println(json.writeValueAsString(line));
    System.out.flush();
  }

  private static Thread start(Runnable work) {
    Thread thread = new Thread(() -> {
      while (!Thread.currentThread().isInterrupted()) {
        work.run();
        pause(100);
      }
    });
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private static void await(String what, BooleanSupplier reached) {
    long end = System.nanoTime() + DEADLINE_MS * (long) NANOS_PER_MS;
    while (!reached.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new IllegalStateException("waited " + DEADLINE_MS / 1000 + " s for " + what);
      }
      pause(LOOK_MS);
    }
  }

  private static void pause(int ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
