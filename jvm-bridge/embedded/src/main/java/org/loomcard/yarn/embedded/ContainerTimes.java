package org.loomcard.yarn.embedded;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.security.ContainerTokenIdentifier;
import org.apache.hadoop.yarn.server.api.ContainerType;
import org.apache.hadoop.yarn.server.nodemanager.ContainerStateTransitionListener;
import org.apache.hadoop.yarn.server.nodemanager.Context;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerEvent;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerImpl;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerState;

/**
 * Writes down when each container began to run and when its process ended, as its node saw it.
 *
 * <p>The ResourceManager forgets a container when it ends, and only our own scheduler keeps a
 * journal; this hook of the NodeManager measures every scheduler in the same way. It appends one
 * JSON object per line to the file that {@value #FILE} names.
 */
public final class ContainerTimes implements ContainerStateTransitionListener {
  static final String FILE = "loomcard.container-times.file";
  private static final ObjectMapper JSON = new ObjectMapper();

  private Path file;
  private String node;

  @Override
  public void init(Context context) {
    String name = context.getConf().get(FILE);
    if (name == null) {
      throw new IllegalArgumentException(FILE + " is not set; it names the file to append to");
    }
    file = Paths.get(name);
    node = context.getConf().get("yarn.nodemanager.address").split(":")[0];
  }

  @Override
  public void preTransition(ContainerImpl container, ContainerState before, ContainerEvent event) {
    // Only events that have already happened matter.
  }

  @Override
  public void postTransition(
      ContainerImpl container, ContainerState before, ContainerState after, ContainerEvent event) {
    if (before != after && after == ContainerState.RUNNING) {
      write(container, "running");
    } else if (!ended(before) && ended(after)) {
      write(container, "ended");
    }
  }

  private static boolean ended(ContainerState state) {
    switch (state) {
      case EXITED_WITH_SUCCESS:
      case EXITED_WITH_FAILURE:
      case CONTAINER_CLEANEDUP_AFTER_KILL:
      case DONE:
        return true;
      default:
        return false;
    }
  }

  private void write(ContainerImpl container, String what) {
    ContainerTokenIdentifier token = container.getContainerTokenIdentifier();
    Resource size = container.getResource();
    ObjectNode line = JSON.createObjectNode();
    line.put("at_ms", System.currentTimeMillis());
    line.put("event", what);
    line.put("container", container.getContainerId().toString());
    line.put("application",
        container.getContainerId().getApplicationAttemptId().getApplicationId().toString());
    line.put("node", node);
    line.put("am", token.getContainerType() == ContainerType.APPLICATION_MASTER);
    line.put("memory_mb", size.getMemorySize());
    line.put("vcores", size.getVirtualCores());
    try {
      append(line.toString() + "\n");
    } catch (IOException e) {
      throw new IllegalStateException("cannot append to " + file + ": " + e.getMessage(), e);
    }
  }

  /** One short write in append mode: lines of several nodes do not mix. */
  private void append(String line) throws IOException {
    synchronized (ContainerTimes.class) {
      Files.write(file, line.getBytes(StandardCharsets.UTF_8),
          StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
  }
}
