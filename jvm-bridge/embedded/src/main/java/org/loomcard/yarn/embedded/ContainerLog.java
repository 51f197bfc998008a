package org.loomcard.yarn.embedded;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.Container;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ContainerState;

/**
 * The file in which nodes write down when each container began to run and when its process ended:
 * one JSON object per line.
 */
final class ContainerLog {
  /** The property that names the file to append to. */
  static final String FILE = "loomcard.container-times.file";
  private static final ObjectMapper JSON = new ObjectMapper();
  private final Path file;
  private final String node;

  /** @throws IllegalArgumentException if no property names the file */
  ContainerLog(Configuration conf) {
    String name = conf.get(FILE);
    if (name == null) {
      throw new IllegalArgumentException(FILE + " is not set; it names the file to append to");
    }
    file = Paths.get(name);
    node = conf.get("yarn.nodemanager.address").split(":")[0];
  }

  /** Notes that a container has another state; only its beginning and its end are written. */
  void changed(Container container, boolean isAm, ContainerState before, ContainerState after) {
    if (before != after && after == ContainerState.RUNNING) {
      write(container, isAm, "running");
    } else if (!ended(before) && ended(after)) {
      write(container, isAm, "ended");
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

  private void write(Container container, boolean isAm, String what) {
    ContainerId id = container.getContainerId();
    ObjectNode line = JSON.createObjectNode();
    line.put("at_ms", System.currentTimeMillis());
    line.put("event", what);
    line.put("container", id.toString());
    line.put("application", id.getApplicationAttemptId().getApplicationId().toString());
    line.put("node", node);
    line.put("am", isAm);
    line.put("memory_mb", container.getResource().getMemory());
    line.put("vcores", container.getResource().getVirtualCores());
    try {
      append(line.toString() + "\n");
    } catch (IOException e) {
      throw new IllegalStateException("cannot append to " + file + ": " + e.getMessage(), e);
    }
  }

  /** One short write in append mode: lines of several nodes do not mix. */
  private void append(String line) throws IOException {
    synchronized (ContainerLog.class) {
      Files.write(file, line.getBytes(StandardCharsets.UTF_8),
          StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
  }
}
