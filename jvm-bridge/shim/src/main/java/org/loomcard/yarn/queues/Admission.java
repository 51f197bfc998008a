package org.loomcard.yarn.queues;

import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.loomcard.yarn.config.QueueSpec;

/**
 * What a queue and the queues above it allow applications: how many may come, how large their
 * containers may be, and how long they may live. A refusal uses CapacityScheduler's words.
 */
public final class Admission {
  private Admission() {
  }

  /**
   * Returns null when {@code queue} takes one more application of {@code user}; otherwise the
   * reason.
   *
   * @param from the queue that the application leaves, where it is counted already; or null
   */
  public static String refusal(LoomcardQueue queue, LoomcardQueue from, String user,
      ApplicationId id) {
    if (queue.state() != QueueState.RUNNING && from != queue) {
      return "Queue " + queue.path() + " is " + queue.state()
          + ". Cannot accept submission of application: " + id;
    }
    for (LoomcardQueue limited = queue; limited != null; limited = limited.parent()) {
      if (from != null && from.isWithin(limited)) {
        return null;
      }
      QueueSpec spec = limited.spec();
      int live = limited.applications();
      if (spec.maximumApplications != QueueSpec.NONE && live >= spec.maximumApplications) {
        return "Queue " + limited.path() + " already has " + live
            + " applications, cannot accept submission of application: " + id;
      }
      int ofUser = limited.applicationsOf(user);
      if (spec.maximumApplicationsPerUser != QueueSpec.NONE
          && ofUser >= spec.maximumApplicationsPerUser) {
        return "Queue " + limited.path() + " already has " + ofUser + " applications from user "
            + user + " cannot accept submission of application: " + id;
      }
    }
    return null;
  }

  /** Returns the largest container that may be asked for in {@code queue}, at most {@code most}. */
  public static Resource largest(LoomcardQueue queue, Resource most) {
    long[] amounts = Amounts.of(most);
    String[] names = Amounts.names();
    for (LoomcardQueue above = queue; above != null; above = above.parent()) {
      for (int i = 0; i < names.length; i++) {
        Long stated = above.spec().maximumAllocation.get(names[i]);
        amounts[i] = stated == null ? amounts[i] : Math.min(amounts[i], stated);
      }
    }
    return Amounts.toResource(amounts);
  }

  /**
   * Returns the seconds that an application may live if it asks for {@code asked}; not above 0: no
   * limit.
   */
  public static long lifetime(QueueSpec queue, long asked) {
    if (queue == null) {
      return asked;
    }
    long most = queue.maximumLifetimeS;
    if (asked <= 0) {
      return queue.defaultLifetimeS > 0 ? queue.defaultLifetimeS
          : most > 0 ? most : asked;
    }
    return most > 0 ? Math.min(most, asked) : asked;
  }

  /**
   * Returns the priority of an application that asks for {@code asked}, at most {@code most};
   * null asks for the queue's.
   */
  public static Priority priority(QueueSpec queue, Priority asked, Priority most) {
    int wanted = asked != null ? asked.getPriority()
        : queue == null ? 0 : queue.defaultPriority;
    return Priority.newInstance(Math.min(most.getPriority(), wanted));
  }
}
