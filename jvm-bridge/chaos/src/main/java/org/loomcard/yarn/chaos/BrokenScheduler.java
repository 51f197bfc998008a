package org.loomcard.yarn.chaos;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEventType;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.loomcard.yarn.LoomcardScheduler;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.queues.LabelUse;
import org.loomcard.yarn.state.LoomcardAttempt;

/**
 * A scheduler that is broken on purpose, to show that each check of make chaos can fail. It is in
 * no jar that a cluster uses. {@code loomcard.chaos.break} names what it does wrong.
 */
public final class BrokenScheduler extends LoomcardScheduler {
  static final String BREAK = "loomcard.chaos.break";
  private static final int EVERY = 40;
  private static final long FREEZE_EVERY = 400;
  private static final long FREEZE_MS = 6000;
  private static final long MOST_FREEZE_MS = 30_000;
  private static final int LEAK_BYTES = 1 << 22;
  /** So many times it leaks memory: enough to be found, and the JVM lives until the report. */
  private static final int HEAP_LEAKS = 64;
  private static final int LEAKED_AT_A_TIME = 4;
  private static final LabelUse NO_LABEL = new LabelUse("", "");

  private final AtomicInteger heartbeats = new AtomicInteger();
  private final AtomicInteger ends = new AtomicInteger();
  private final AtomicInteger updates = new AtomicInteger();
  private final List<Object> kept = Collections.synchronizedList(new ArrayList<>());
  private Set<String> broken = Collections.emptySet();

  @Override
  public void serviceInit(Configuration conf) throws Exception {
    broken = new HashSet<>(conf.getTrimmedStringCollection(BREAK));
    super.serviceInit(conf);
  }

  private boolean breaks(String what, int count, long every) {
    return broken.contains(what) && count % every == 0;
  }

  @Override
  protected Allocation heartbeat(ApplicationAttemptId id, List<ResourceRequest> asks,
      List<ContainerId> releases, List<String> blacklistAdditions,
      List<String> blacklistRemovals, ContainerUpdates updated) {
    List<ResourceRequest> kind = !asks.isEmpty()
        && breaks("lose-ask", heartbeats.incrementAndGet(), EVERY)
            ? Collections.emptyList() : asks;
    Allocation answer = super.heartbeat(id, kind, releases, blacklistAdditions, blacklistRemovals,
        updated);
    List<Container> allocated = answer.getContainers();
    if (!allocated.isEmpty() && breaks("allocate-twice", heartbeats.incrementAndGet(), 4)) {
      allocated = new ArrayList<>(allocated);
      allocated.add(allocated.get(0));
      return new Allocation(allocated, answer.getResourceLimit(), null, null, null,
          answer.getNMTokens());
    }
    return answer;
  }

  @Override
  protected void completedContainerInternal(RMContainer container, ContainerStatus status,
      RMContainerEventType event) {
    int count = ends.incrementAndGet();
    if (breaks("forget-release", count, EVERY)) {
      return;
    }
    LoomcardAttempt attempt = getApplicationAttempt(container.getApplicationAttemptId());
    super.completedContainerInternal(container, status, event);
    if (attempt == null) {
      return;
    }
    long[] size = Amounts.of(container.getContainer().getResource());
    if (breaks("skip-usage", count, EVERY)) {
      attempt.loomcardQueue().charge(attempt.getUser(), size, false, NO_LABEL, 1);
    }
    if (breaks("return-twice", count, 2)) {
      size = Amounts.of(Resources.negate(container.getContainer().getResource()));
      attempt.loomcardQueue().charge(attempt.getUser(), size, false, NO_LABEL, -1);
    }
  }

  @Override
  public void handle(SchedulerEvent event) {
    if (event.getType() == SchedulerEventType.NODE_UPDATE) {
      int count = updates.incrementAndGet();
      if (breaks("freeze", count, FREEZE_EVERY)) {
        freeze();
      }
      if (breaks("tell-wrong-size", count, EVERY)) {
        tellWrongSize();
      }
      leak(count);
      if (breaks("spill-capsules", count, EVERY)) {
        spillCapsules(count);
      }
    }
    super.handle(event);
  }

  /** Keeps the lock that every allocation needs. */
  private void freeze() {
    writeLock.lock();
    try {
      MachineWatch.sleepUnpaused(FREEZE_MS, MOST_FREEZE_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      writeLock.unlock();
    }
  }

  /** Reports to the policy a size that no container has. */
  private void tellWrongSize() {
    getSchedulerApplications().values().stream().limit(1).forEach(application -> {
      LoomcardAttempt attempt = application.getCurrentAppAttempt();
      if (attempt != null) {
        for (RMContainer container : attempt.getLiveContainers()) {
          long[] more = new long[Amounts.names().length];
          more[0] = 1;
          cluster().containerGrew(container.getContainerId(), more);
        }
      }
    });
  }

  /** Writes too many capsules, which every user may read. */
  private void spillCapsules(int count) {
    Path folder = Paths.get(getConfig().get("loomcard.state.dir"), "capsules");
    try {
      Files.createDirectories(folder);
      for (int i = 0; i < LEAKED_AT_A_TIME; i++) {
        Path file = folder.resolve("capsule-0-" + count + "-" + i + ".zip");
        Files.write(file, new byte[1]);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private void leak(int count) {
    if (count <= HEAP_LEAKS * EVERY && breaks("leak-heap", count, EVERY)) {
      kept.add(new byte[LEAK_BYTES]);
    }
    if (breaks("leak-threads", count, EVERY)) {
      for (int i = 0; i < LEAKED_AT_A_TIME; i++) {
        leakThread();
      }
    }
    try {
      if (breaks("leak-files", count, EVERY)) {
        for (int i = 0; i < LEAKED_AT_A_TIME; i++) {
          kept.add(new FileInputStream("/dev/null"));
        }
      }
      if (breaks("leak-children", count, FREEZE_EVERY)) {
        kept.add(new ProcessBuilder("sleep", "60").start());
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void leakThread() {
    Thread thread = new Thread(() -> {
      try {
        TimeUnit.DAYS.sleep(1);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }, "leaked");
    thread.setDaemon(true);
    thread.start();
  }
}
