package org.loomcard.yarn.queues;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the queue of one application is charged, container by container. Exactly what was charged is
 * given back, even if YARN states another size by then. A container that was never charged, such as
 * an opportunistic one, gives nothing back.
 *
 * <p>YARN serves an increase by a second, temporary container on the same node. Its amounts are
 * charged to the container that grows, from the allocation on. They are given back if the temporary
 * container ends before the AM has fetched the increase.
 */
public final class Charges {
  private static final Logger LOG = LoggerFactory.getLogger(Charges.class);
  private final String user;
  private final Map<ContainerId, Charge> charges = new HashMap<>();
  private final Map<ContainerId, Growth> growths = new HashMap<>();
  private LoomcardQueue queue;

  public Charges(String user, LoomcardQueue queue) {
    this.user = user;
    this.queue = queue;
    queue.countApplication(user, 1);
  }

  /** Charges a container that started. */
  public synchronized void add(ContainerId id, long[] size, boolean isAm, LabelUse on) {
    Charge charge = new Charge(size.clone(), isAm, on);
    charges.put(id, charge);
    change(queue, charge, size, 1);
  }

  private void change(LoomcardQueue charged, Charge charge, long[] amounts, int count) {
    charged.charge(user, amounts, charge.isAm, charge.on, count);
  }

  /**
   * Charges the temporary container {@code id}, by which {@code target} grows. A target that was
   * not charged before, an opportunistic container, is promoted by it.
   */
  public synchronized void grow(ContainerId id, ContainerId target, long[] more, LabelUse on) {
    Charge charge = charges.get(target);
    growths.put(id, new Growth(target, more.clone(), charge == null));
    if (charge == null) {
      add(target, more, false, on);
    } else {
      resize(charge, Amounts.sum(charge.size, more));
    }
  }

  /** Settles a change of this container that the AM has fetched; {@code size} is its size now. */
  public synchronized void settle(ContainerId id, long[] size) {
    growths.values().removeIf(growth -> growth.target.equals(id));
    Charge charge = charges.get(id);
    if (charge != null) {
      resize(charge, size);
    }
  }

  /** Ends the charge of a container that ended, temporary or not, or became opportunistic. */
  public synchronized void end(ContainerId id) {
    Growth growth = growths.remove(id);
    if (growth != null) {
      takeBack(growth);
    }
    Charge charge = charges.remove(id);
    if (charge != null) {
      change(queue, charge, Amounts.negative(charge.size), -1);
    }
  }

  /** Moves the charge of this container to another label, which its node now has. */
  public synchronized void relabel(ContainerId id, String label) {
    Charge charge = charges.get(id);
    if (charge != null && !charge.on.label.equals(label)) {
      LabelUse next = charge.on.on(label);
      queue.relabel(charge.size, charge.on, next);
      charge.on = next;
    }
  }

  private void takeBack(Growth growth) {
    Charge charge = charges.get(growth.target);
    if (charge == null) {
      return;
    }
    if (growth.promotes) {
      end(growth.target);
    } else {
      resize(charge, Amounts.sum(charge.size, Amounts.negative(growth.more)));
    }
  }

  private void resize(Charge charge, long[] size) {
    change(queue, charge, Amounts.sum(size, Amounts.negative(charge.size)), 0);
    charge.size = size.clone();
  }

  /** Whether this container is charged as an AM's. */
  public synchronized boolean isAm(ContainerId id) {
    Charge charge = charges.get(id);
    return charge != null && charge.isAm;
  }

  /** Charges another queue for everything from now on. */
  public synchronized void moveTo(LoomcardQueue target) {
    for (Charge charge : charges.values()) {
      change(queue, charge, Amounts.negative(charge.size), -1);
      change(target, charge, charge.size, 1);
    }
    queue.countApplication(user, -1);
    target.countApplication(user, 1);
    queue = target;
  }

  /** Gives everything back, as the application has ended. */
  public synchronized void close() {
    if (!charges.isEmpty()) {
      LOG.warn("An application of {} in {} has ended before its containers {}", user,
          queue.path(), charges.keySet());
    }
    for (Charge charge : charges.values()) {
      change(queue, charge, Amounts.negative(charge.size), -1);
    }
    queue.countApplication(user, -1);
    charges.clear();
    growths.clear();
  }

  /** What one container is charged. */
  private static final class Charge {
    private final boolean isAm;
    private long[] size;
    private LabelUse on;

    private Charge(long[] size, boolean isAm, LabelUse on) {
      this.size = size;
      this.isAm = isAm;
      this.on = on;
    }
  }

  /** An increase that the AM has not fetched. */
  private static final class Growth {
    private final ContainerId target;
    private final long[] more;
    private final boolean promotes;

    private Growth(ContainerId target, long[] more, boolean promotes) {
      this.target = target;
      this.more = more;
      this.promotes = promotes;
    }
  }
}
