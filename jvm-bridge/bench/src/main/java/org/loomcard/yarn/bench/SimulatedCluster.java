package org.loomcard.yarn.bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.yarn.api.protocolrecords.SubmitApplicationRequest;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;

/** A ResourceManager with its nodes and applications, and the two threads that drive them. */
final class SimulatedCluster {
  private static final long DEADLINE_MS = 120_000;
  private static final long LOOK_MS = 20;

  final AllocationWatch watch = new AllocationWatch();
  final NodeDriver nodeDriver;
  final MasterDriver masterDriver;
  private final BenchmarkSettings settings;
  private final BenchmarkResourceManager manager;
  private final List<Thread> drivers = new ArrayList<>();
  private volatile NodeDriver updatesGoTo;

  SimulatedCluster(BenchmarkSettings settings) throws Exception {
    this.settings = settings;
    manager = new BenchmarkResourceManager(watch, node -> {
      if (updatesGoTo != null) {
        updatesGoTo.updated(node);
      }
    });
    manager.init(SchedulerConfiguration.of(settings));
    manager.start();
    RMContext context = manager.getRMContext();
    List<SimulatedNode> nodes = new ArrayList<>();
    for (int i = 0; i < settings.nodes; i++) {
      SimulatedNode node = new SimulatedNode(context, i + 1, settings.slots,
          settings.slots * settings.shapes);
      node.register();
      nodes.add(node);
    }
    await("every node to be known", () ->
        manager.getResourceScheduler().getNumClusterNodes() == settings.nodes);
    nodeDriver = new NodeDriver(nodes);
    updatesGoTo = nodeDriver;
    List<SimulatedMaster> masters = new ArrayList<>();
    for (int i = 0; i < settings.applications; i++) {
      SimulatedMaster master = new SimulatedMaster(manager.getApplicationMasterService(),
          submit(SchedulerConfiguration.queue(i % settings.queues)), nodeDriver,
          1 + i / settings.queues % settings.shapes, settings.reduceEvery);
      master.register();
      watch.add(master);
      masters.add(master);
    }
    masterDriver = new MasterDriver(masters, settings.nodes * settings.slots);
  }

  /** Starts the drivers and waits until the cluster is full. */
  void fill() {
    start(masterDriver, MasterDriver.THREAD);
    start(nodeDriver, NodeDriver.THREAD);
    long wanted = (long) (0.95 * settings.nodes * settings.slots);
    await("the cluster to be full", () -> {
      masterDriver.check();
      return watch.allocations() >= wanted;
    });
  }

  ResourceScheduler scheduler() {
    return manager.getResourceScheduler();
  }

  /** Stops the drivers, then the ResourceManager and all that it started. */
  void stop() throws InterruptedException {
    for (Thread driver : drivers) {
      driver.interrupt();
      driver.join();
    }
    manager.stop();
  }

  private RMAppAttempt submit(String queue) throws Exception {
    RMContext context = manager.getRMContext();
    ApplicationId id = manager.getClientRMService().getNewApplication(null).getApplicationId();
    Map<String, String> environment = settings.stages == null ? Collections.emptyMap()
        : Collections.singletonMap("LOOMCARD_DAG", settings.stages);
    ApplicationSubmissionContext submission = ApplicationSubmissionContext.newInstance(id, "load",
        queue, Priority.newInstance(0), ContainerLaunchContext.newInstance(Collections.emptyMap(),
            environment, Collections.emptyList(), Collections.emptyMap(), null,
            Collections.emptyMap()),
        true, false, 1, Resource.newInstance(BenchmarkSettings.MEMORY_MB_PER_SLOT, 1),
        settings.applicationType);
    manager.getClientRMService().submitApplication(
        SubmitApplicationRequest.newInstance(submission));
    RMApp application = context.getRMApps().get(id);
    await("application " + id + " to be accepted", () -> {
      RMAppAttempt attempt = application.getCurrentAppAttempt();
      return attempt != null && attempt.getState() == RMAppAttemptState.LAUNCHED;
    });
    return application.getCurrentAppAttempt();
  }

  private void start(Runnable driver, String name) {
    Thread thread = new Thread(driver, name);
    thread.setDaemon(true);
    thread.start();
    drivers.add(thread);
  }

  private static void await(String what, BooleanSupplier reached) {
    long end = System.currentTimeMillis() + DEADLINE_MS;
    while (!reached.getAsBoolean()) {
      if (System.currentTimeMillis() > end) {
        throw new IllegalStateException("waited " + DEADLINE_MS / 1000 + " s for " + what);
      }
      try {
        Thread.sleep(LOOK_MS);
      } catch (InterruptedException e) {
        throw new IllegalStateException("interrupted while waiting for " + what, e);
      }
    }
  }
}
