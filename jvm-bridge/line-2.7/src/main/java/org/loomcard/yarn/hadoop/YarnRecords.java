package org.loomcard.yarn.hadoop;

import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;
import org.apache.hadoop.yarn.util.ConverterUtils;

/** What the scheduler makes of YARN's records and reads in them; this is for Hadoop 2.7. */
public final class YarnRecords {
  private YarnRecords() {
  }

  /** The amounts of {@code resource}: memory in MB, and vcores. */
  public static long[] amounts(Resource resource) {
    return new long[] {resource.getMemory(), resource.getVirtualCores()};
  }

  /** A resource with these amounts, negative ones as 0. */
  public static Resource resource(long[] amounts) {
    return Resource.newInstance(whole(amounts[0]), whole(amounts[1]));
  }

  private static int whole(long amount) {
    return (int) Math.max(0, Math.min(Integer.MAX_VALUE, amount));
  }

  /** YARN's names of the types, in the order of the amounts. */
  public static String[] types() {
    return new String[] {"memory-mb", "vcores"};
  }

  /** Returns the id that is written so; throws IllegalArgumentException if none is. */
  public static ApplicationId applicationId(String text) {
    return ConverterUtils.toApplicationId(text);
  }

  /** Returns a new container of this ask, without a token. */
  public static Container newContainer(ContainerId id, NodeId node, String httpAddress,
      Resource size, SchedulerRequestKey key) {
    return BuilderUtils.newContainer(id, node, httpAddress, size, key.getPriority(), null);
  }

  /** The ask for which a container was allocated. */
  public static SchedulerRequestKey key(RMContainer container) {
    return new SchedulerRequestKey(container.getContainer().getPriority());
  }

  /** Always true. */
  public static boolean isGuaranteed(RMContainer container) {
    return true;
  }

  /** Always true. */
  public static boolean isGuaranteed(Container container) {
    return true;
  }

  /** Always 0. */
  public static long allocationRequestId(Container container) {
    return 0;
  }

  /** The label of the nodes on which it runs: no label lends room to asks without one. */
  public static String label(RMContainer container, String label) {
    return label;
  }

  /** Always null: no submission asks for a priority. */
  public static Priority priority(AppAddedSchedulerEvent event) {
    return null;
  }

  /** Does nothing: applications have no priority. */
  public static void setPriority(SchedulerApplication<?> application, Priority priority) {
  }

  /** Does nothing: the message is in the log only. */
  public static void diagnose(RMAppAttempt attempt, String message) {
  }

  /** Does nothing: clients get no figures with a queue. */
  public static void setStatistics(QueueInfo info, QueueMetrics metrics) {
  }

  /** Does nothing: clients get neither with a queue. */
  public static void setPath(QueueInfo info, String path, int mostRunning) {
  }
}
