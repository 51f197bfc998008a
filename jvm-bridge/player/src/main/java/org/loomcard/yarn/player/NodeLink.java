package org.loomcard.yarn.player;

import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Executor;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.NMToken;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.NMTokenCache;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One attempt's connection to NodeManagers, with the tokens that the ResourceManager sends it. */
final class NodeLink {
  private static final Logger LOG = LoggerFactory.getLogger(NodeLink.class);

  private final NMTokenCache tokens = new NMTokenCache();
  private final NMClient client = NMClient.createNMClient();
  private final Executor starters;

  /** {@code starters} carry out the calls, which take milliseconds each. */
  NodeLink(Configuration conf, Executor starters) {
    this.starters = starters;
    client.setNMTokenCache(tokens);
    client.init(conf);
    // The ResourceManager stops what still runs at the end.
    client.cleanupRunningContainersOnStop(false);
    client.start();
  }

  void learn(List<NMToken> fresh) {
    for (NMToken token : fresh) {
      tokens.setToken(token.getNodeId().toString(), token.getToken());
    }
  }

  /** Starts a container; if its node does not, {@code failed} runs on another thread. */
  void start(Container container, String command, Runnable failed) {
    ContainerLaunchContext context = ContainerLaunchContext.newInstance(
        Collections.emptyMap(), Collections.emptyMap(), Collections.singletonList(command),
        null, null, null);
    starters.execute(() -> {
      try {
        client.startContainer(container, context);
      } catch (YarnException | IOException e) {
        LOG.warn("{} was not started: {}", container.getId(), e.toString());
        failed.run();
      }
    });
  }

  void close() {
    client.stop();
  }
}
