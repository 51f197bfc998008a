package org.loomcard.yarn.player.context;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import java.io.File;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * A workload with all random values sampled, as python/loomcard/workload/scenario.py writes it.
 * Times are ms, amounts stand in the order of {@link #resourceTypes}.
 */
public final class Scenario {
  public List<String> resourceTypes;
  public List<Node> nodes;
  public List<Application> applications;
  public long heartbeatMs;
  public long amHeartbeatMs;
  public long launchDelayMs;
  public long amStartMs;

  /** A machine. */
  static final class Node {
    public String name;
    public String rack;
  }

  /** Tasks of one size that are asked for under one ask key. */
  public static final class Stage {
    public String id;
    public long[] size;
    public int priority;
    public long requestId;
    public long[] durationsMs;
    public int[] after = {};
    public List<List<String>> nodes = Collections.emptyList();
    public Map<Integer, long[]> failsMs = Collections.emptyMap();

    public int tasks() {
      return durationsMs.length;
    }

    /** The hosts that a task would rather run on. */
    public List<String> wishes(int task) {
      return nodes.isEmpty() ? Collections.emptyList() : nodes.get(task);
    }
  }

  /** Containers that an application of kind spark holds over all stages. */
  public static final class Executors {
    public int count;
    public long[] size;
  }

  /** One application. */
  public static final class Application {
    public String id;
    public long submitMs;
    public String queue;
    public String user;
    public String kind;
    public List<Stage> stages;
    public List<String> tags = Collections.emptyList();
    public long[] am;
    public double slowstart;
    public long msPerMap;
    public int maxAttempts = 4;
    public Executors executors;
    public String asks = "unmarked";
  }

  /** What the player is given: the scenario, and what goes beside it. */
  public static final class Input {
    public Scenario scenario;
    /** The hints that each application gives its scheduler. */
    public Map<String, Map<String, String>> hints = Collections.emptyMap();
    /** What the cluster calls the scenario's nodes and racks, where that is not the same. */
    public Map<String, String> realNames = Collections.emptyMap();
  }

  /** Reads the player's input file. */
  public static Input read(File file) throws IOException {
    return json().readValue(file, Input.class);
  }

  public static ObjectMapper json() {
    return new ObjectMapper()
        .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
        .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
  }
}
