package org.loomcard.yarn.player;

import java.io.IOException;
import java.security.PrivilegedExceptionAction;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.loomcard.yarn.player.context.Amounts;
import org.loomcard.yarn.player.context.Command;
import org.loomcard.yarn.player.context.Scenario;

/** Submits applications, each as its own user. */
final class Submissions {
  /** The same as YARN's own default. */
  private static final int ATTEMPTS = 2;

  private final Configuration conf;
  private final Amounts amounts;
  private final Command command;
  private final Map<String, YarnClient> clients = new ConcurrentHashMap<>();

  Submissions(Configuration conf, Amounts amounts, Command command) {
    this.conf = conf;
    this.amounts = amounts;
    this.command = command;
  }

  /** Returns a client that acts as {@code user}; made and warmed up at the first call. */
  YarnClient client(String user) throws IOException, InterruptedException {
    YarnClient known = clients.get(user);
    if (known != null) {
      return known;
    }
    PrivilegedExceptionAction<YarnClient> make = () -> {
      YarnClient client = YarnClient.createYarnClient();
      client.init(conf);
      client.start();
      client.getYarnClusterMetrics();
      return client;
    };
    YarnClient client = UserGroupInformation.createRemoteUser(user).doAs(make);
    clients.put(user, client);
    return client;
  }

  /** Returns the application's context with the id that the ResourceManager gave it. */
  ApplicationSubmissionContext prepare(Scenario.Application application,
      Map<String, String> hints) throws IOException, YarnException, InterruptedException {
    ApplicationSubmissionContext context =
        client(application.user).createApplication().getApplicationSubmissionContext();
    boolean managed = application.am != null;
    ContainerLaunchContext launch = ContainerLaunchContext.newInstance(Collections.emptyMap(),
        hints, Collections.singletonList(
            managed ? command.master(context.getApplicationId().toString()) : "true"),
        null, null, null);
    Set<String> tags = new LinkedHashSet<>(application.tags);
    context.setApplicationName(application.id);
    context.setApplicationType(application.kind.toUpperCase(Locale.ROOT));
    context.setApplicationTags(tags);
    context.setQueue(application.queue);
    context.setUnmanagedAM(!managed);
    context.setMaxAppAttempts(managed ? ATTEMPTS : 1);
    context.setResource(managed ? amounts.resource(application.am) : Resource.newInstance(1, 1));
    context.setAMContainerSpec(launch);
    return context;
  }

  ApplicationReport report(Scenario.Application application, ApplicationId id)
      throws IOException, YarnException, InterruptedException {
    return client(application.user).getApplicationReport(id);
  }

  void close() {
    clients.values().forEach(YarnClient::stop);
  }
}
