package org.loomcard.yarn.hadoop;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NMToken;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ActiveUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.PendingAsk;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * An attempt of Hadoop 2.7 with the lock and the method names of later releases.
 *
 * <p>YARN's own methods hold the object's monitor instead of a lock. Here the lock is always taken
 * first, and the monitor within it.
 */
abstract class LockedAttempt extends SchedulerApplicationAttempt {
  protected final Lock writeLock = new ReentrantLock();
  protected final Usage attemptResourceUsage = new Usage();
  private volatile boolean hasMaster;
  private List<NMToken> tokens = new ArrayList<>();

  LockedAttempt(ApplicationAttemptId id, String user, Queue queue, ActiveUsersManager users,
      RMContext context) {
    super(id, user, queue, users, context);
    liveContainers = new ConcurrentHashMap<>(); // it is read without the monitor too
  }

  /** The containers whose preemption is to be announced to the AM; null for none. */
  public abstract Set<ContainerId> pullPreemptions();

  /** Rows of asks came back because a container that served them was lost. */
  public abstract void asksCameBack(List<ResourceRequest> rows);

  @Override
  public final void updateResourceRequests(List<ResourceRequest> rows) {
    writeLock.lock();
    try {
      super.updateResourceRequests(rows);
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public final void recoverResourceRequests(List<ResourceRequest> rows) {
    writeLock.lock();
    try {
      super.recoverResourceRequests(rows);
    } finally {
      writeLock.unlock();
    }
    asksCameBack(rows);
  }

  @Override
  public final void recoverContainer(RMContainer container) {
    hasMaster = true;
    writeLock.lock();
    try {
      super.recoverContainer(container);
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public final void transferStateFromPreviousAttempt(SchedulerApplicationAttempt previous) {
    writeLock.lock();
    try {
      super.transferStateFromPreviousAttempt(previous);
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public final void stop(RMAppAttemptState state) {
    writeLock.lock();
    try {
      super.stop(state);
    } finally {
      writeLock.unlock();
    }
  }

  /** Takes the new containers; the first of an attempt is the AM's own. */
  public List<Container> pullNewlyAllocatedContainers() {
    writeLock.lock();
    try {
      ContainersAndNMTokensAllocation pulled = pullNewlyAllocatedContainersAndNMTokens();
      tokens.addAll(pulled.getNMTokenList());
      hasMaster |= !pulled.getContainerList().isEmpty();
      return pulled.getContainerList();
    } finally {
      writeLock.unlock();
    }
  }

  /** Takes the tokens of nodes on which containers were pulled. */
  final List<NMToken> pullTokens() {
    writeLock.lock();
    try {
      List<NMToken> pulled = tokens;
      tokens = new ArrayList<>();
      return pulled;
    } finally {
      writeLock.unlock();
    }
  }

  public final List<Container> pullNewlyIncreasedContainers() {
    return Collections.emptyList();
  }

  public final List<Container> pullNewlyDecreasedContainers() {
    return Collections.emptyList();
  }

  public final List<Container> pullNewlyPromotedContainers() {
    return Collections.emptyList();
  }

  public final List<Container> pullNewlyDemotedContainers() {
    return Collections.emptyList();
  }

  /** Never called: no container becomes opportunistic. */
  protected void addToNewlyDemotedContainers(ContainerId id, RMContainer second) {
  }

  /** The keys of the asks of which something is outstanding. */
  public final Collection<SchedulerRequestKey> getSchedulerKeys() {
    Set<SchedulerRequestKey> keys = new TreeSet<>();
    for (Priority priority : getPriorities()) {
      keys.add(new SchedulerRequestKey(priority));
    }
    return keys;
  }

  public final int getOutstandingAsksCount(SchedulerRequestKey key) {
    return getOutstandingAsksCount(key, ResourceRequest.ANY);
  }

  public final int getOutstandingAsksCount(SchedulerRequestKey key, String place) {
    return getPendingAsk(key, place).getCount();
  }

  public final PendingAsk getPendingAsk(SchedulerRequestKey key, String place) {
    ResourceRequest row = appSchedulingInfo.getResourceRequest(key.getPriority(), place);
    return row == null ? new PendingAsk(Resources.none(), 0)
        : new PendingAsk(row.getCapability(), row.getNumContainers());
  }

  public final boolean isPlaceBlacklisted(String place) {
    return isBlacklisted(place);
  }

  /**
   * Whether the AM has no container yet. RMAppAttempt knows that too. But there it waits for a lock
   * whose owner may wait for the scheduler.
   */
  public final boolean isWaitingForAMContainer() {
    return !hasMaster && !getUnmanagedAM();
  }

  /** Does nothing: applications have no priority. */
  public final void setPriority(Priority priority) {
  }

  /** Does nothing: metrics do not show how long an ask waits. */
  protected final void recordContainerRequestTime(long nowMs) {
  }

  /** Does nothing. */
  protected final void recordContainerAllocationTime(long nowMs) {
  }

  /** Does nothing: the AM's diagnostics do not show it. */
  protected final void noteAssigned() {
  }

  /** Returns the ResourceManager's state machine of a new container of this attempt. */
  protected final RMContainerImpl newRMContainer(Container container, SchedulerRequestKey key,
      String label) {
    return new RMContainerImpl(container, getApplicationAttemptId(), container.getNodeId(),
        getUser(), rmContext);
  }

  /** Adds a container that the AM gets with its next heartbeat; the caller holds the lock. */
  protected final void addToNewlyAllocatedContainers(SchedulerNode node, RMContainer allocated) {
    newlyAllocatedContainers.add(allocated);
  }

  /** What the attempt uses and has reserved. YARN counts all nodes together. */
  public final class Usage {
    public void incUsed(String label, Resource size) {
      add(currentConsumption, size);
    }

    public void decUsed(String label, Resource size) {
      add(currentConsumption, Resources.negate(size));
    }

    public void incReserved(String label, Resource size) {
      add(currentReservation, size);
    }

    public void decReserved(String label, Resource size) {
      add(currentReservation, Resources.negate(size));
    }

    private void add(Resource sum, Resource more) {
      synchronized (LockedAttempt.this) {
        Resources.addTo(sum, more);
      }
    }
  }
}
