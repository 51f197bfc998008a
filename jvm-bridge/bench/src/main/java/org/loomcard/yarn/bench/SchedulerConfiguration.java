package org.loomcard.yarn.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler;
import org.apache.hadoop.yarn.util.resource.DominantResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/** The configuration of a ResourceManager for each of the schedulers that are compared. */
final class SchedulerConfiguration {
  private static final String ANY_PORT = "127.0.0.1:0";

  private SchedulerConfiguration() {
  }

  static YarnConfiguration of(BenchmarkSettings settings) throws IOException {
    YarnConfiguration conf = new YarnConfiguration();
    Path folder = Paths.get(settings.folder).toAbsolutePath();
    Files.createDirectories(folder);
    conf.set("hadoop.tmp.dir", folder.toString());
    conf.set(YarnConfiguration.FS_NODE_ATTRIBUTE_STORE_ROOT_DIR, folder + "/attributes");
    for (String address : new String[] {YarnConfiguration.RM_ADDRESS,
        YarnConfiguration.RM_SCHEDULER_ADDRESS, YarnConfiguration.RM_ADMIN_ADDRESS,
        YarnConfiguration.RM_RESOURCE_TRACKER_ADDRESS, YarnConfiguration.RM_WEBAPP_ADDRESS}) {
      conf.set(address, ANY_PORT);
    }
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB,
        BenchmarkSettings.MEMORY_MB_PER_SLOT);
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_VCORES, settings.shapes);
    if (settings.scheduler.startsWith("capacity")) {
      capacity(conf, settings);
      // Explicit for both: the default differs between Hadoop lines.
      conf.setBoolean("yarn.scheduler.capacity.schedule-asynchronously.enable",
          "capacity-async".equals(settings.scheduler));
    } else if ("fair".equals(settings.scheduler)) {
      fair(conf, settings, folder);
    } else if (settings.scheduler.startsWith("loomcard")) {
      conf.set(YarnConfiguration.RM_SCHEDULER, settings.scheduler.equals("loomcard")
          ? "org.loomcard.yarn.LoomcardScheduler" : WatchedScheduler.class.getName());
      conf.set("loomcard.state.dir", folder + "/state");
    } else {
      throw new IllegalArgumentException("scheduler=" + settings.scheduler
          + ": expected capacity, capacity-async, fair, loomcard or loomcard-watched");
    }
    settings.configuration.forEach(conf::set);
    ResourceUtils.resetResourceTypes(conf); // read before, with the largest amounts of the defaults
    return conf;
  }

  static String queue(int number) {
    return "root.q" + number;
  }

  private static void capacity(Configuration conf, BenchmarkSettings settings) {
    conf.set(YarnConfiguration.RM_SCHEDULER, CapacityScheduler.class.getName());
    String prefix = "yarn.scheduler.capacity.";
    conf.set(prefix + "resource-calculator", DominantResourceCalculator.class.getName());
    conf.setInt(prefix + "per-node-heartbeat.maximum-offswitch-assignments",
        BenchmarkSettings.COMPLETIONS_PER_HEARTBEAT);
    List<String> names = new ArrayList<>();
    for (int i = 0; i < settings.queues; i++) {
      names.add("q" + i);
      conf.setFloat(prefix + queue(i) + ".capacity", 100f / settings.queues);
      conf.setFloat(prefix + queue(i) + ".maximum-capacity", 100f);
      conf.setFloat(prefix + queue(i) + ".user-limit-factor", settings.queues);
    }
    conf.set(prefix + "root.queues", String.join(",", names));
    conf.setFloat(prefix + "maximum-am-resource-percent", 1f);
  }

  private static void fair(Configuration conf, BenchmarkSettings settings, Path folder)
      throws IOException {
    conf.set(YarnConfiguration.RM_SCHEDULER, FairScheduler.class.getName());
    StringBuilder xml = new StringBuilder("<allocations>"
        + "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>"
        + "<queue name=\"root\"><schedulingPolicy>drf</schedulingPolicy>");
    for (int i = 0; i < settings.queues; i++) {
      xml.append("<queue name=\"q").append(i).append("\"/>");
    }
    xml.append("</queue></allocations>");
    Path file = folder.resolve("fair-scheduler.xml");
    Files.write(file, xml.toString().getBytes(StandardCharsets.UTF_8));
    conf.set("yarn.scheduler.fair.allocation.file", file.toString());
    conf.setBoolean("yarn.scheduler.fair.assignmultiple", true);
    conf.setBoolean("yarn.scheduler.fair.dynamic.max.assign", false);
    conf.setInt("yarn.scheduler.fair.max.assign", BenchmarkSettings.COMPLETIONS_PER_HEARTBEAT);
  }
}
