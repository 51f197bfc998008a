package org.loomcard.yarn.player.context;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Resource;

/**
 * The scenario's nodes and racks, what they are called on the cluster that plays it, and its
 * amounts as the cluster's resources.
 */
public final class Topology {
  private final Map<String, String> racks = new HashMap<>();
  private final Map<String, String> realNames = new HashMap<>();
  private final Map<String, String> names = new HashMap<>();
  private final List<String> types;

  public Topology(Scenario scenario, Map<String, String> realNames) {
    types = scenario.resourceTypes;
    for (Scenario.Node node : scenario.nodes) {
      racks.put(node.name, node.rack);
    }
    this.realNames.putAll(realNames);
    for (Map.Entry<String, String> entry : realNames.entrySet()) {
      names.put(entry.getValue(), entry.getKey());
    }
  }

  /** The rack of a scenario's node; of a node that it does not hold, YARN's default rack. */
  public String rack(String node) {
    return racks.getOrDefault(node, "/default-rack");
  }

  /** What the cluster calls a node, rack or "*" of the scenario. */
  String real(String name) {
    return realNames.getOrDefault(name, name);
  }

  /** What the scenario calls a host of the cluster. */
  public String name(String host) {
    return names.getOrDefault(host, host);
  }

  /** Where an amount of this type stands. */
  public int indexOf(String type) {
    return types.indexOf(type);
  }

  /** YARN's resource in the order of the scenario's types. */
  public long[] amounts(Resource resource) {
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

  /** Amounts in the order of the scenario's types, as YARN has them. */
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
