package org.loomcard.yarn.embedded;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** A node's name and its resources, by Loomcard's names of resource types. */
final class Machine {
  private static final String OTHER_TYPES = "yarn.nodemanager.resource-type.";
  public String name;
  public Map<String, Long> capacity = Collections.emptyMap();

  static Machine named(String name) {
    Machine machine = new Machine();
    machine.name = name;
    return machine;
  }

  /** Reads a JSON list of machines. */
  static List<Machine> read(File file) throws IOException {
    return new ObjectMapper().readValue(file, new TypeReference<List<Machine>>() { });
  }

  /** Declares its resources; those that it does not name stay as configured. */
  void declare(Configuration conf) {
    for (Map.Entry<String, Long> entry : capacity.entrySet()) {
      switch (entry.getKey()) {
        case "memory_mb":
          conf.setLong(YarnConfiguration.NM_PMEM_MB, entry.getValue());
          break;
        case "vcores":
          conf.setLong(YarnConfiguration.NM_VCORES, entry.getValue());
          break;
        default:
          conf.setLong(OTHER_TYPES + entry.getKey(), entry.getValue());
          break;
      }
    }
  }
}
