package org.loomcard.yarn.player.context;

import java.util.List;
import org.apache.hadoop.yarn.api.records.Resource;

/** Converts a scenario's amounts to the cluster's resources, and back. */
public final class Amounts {
  private final List<String> types;

  public Amounts(List<String> types) {
    this.types = types;
  }

  /** Returns YARN's resource for amounts in the order of the scenario's types. */
  public long[] of(Resource resource) {
    long[] amounts = new long[types.size()];
    for (int i = 0; i < amounts.length; i++) {
      switch (types.get(i)) {
        case "memory_mb":
          amounts[i] = resource.getMemorySize();
          break;
        case "vcores":
          amounts[i] = resource.getVirtualCores();
          break;
        default:
          amounts[i] = resource.getResourceValue(types.get(i));
          break;
      }
    }
    return amounts;
  }

  /** Returns YARN's amounts in the order of the scenario's types. */
  public Resource resource(long[] amounts) {
    Resource resource = Resource.newInstance(0, 0);
    for (int i = 0; i < types.size(); i++) {
      switch (types.get(i)) {
        case "memory_mb":
          resource.setMemorySize(amounts[i]);
          break;
        case "vcores":
          resource.setVirtualCores(Math.toIntExact(amounts[i]));
          break;
        default:
          resource.setResourceValue(types.get(i), amounts[i]);
          break;
      }
    }
    return resource;
  }
}
