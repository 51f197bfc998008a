package org.loomcard.yarn.bench;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/** What one run of {@link BridgeBenchmark} shall do, read from arguments {@code name=value}. */
final class BenchmarkSettings {
  static final int MEMORY_MB_PER_SLOT = 1024;
  static final int COMPLETIONS_PER_HEARTBEAT = 5;

  final String scheduler;
  final String folder;
  final int nodes;
  final int slots;
  final int applications;
  final int queues;
  /** Of so many sizes are the asks, which differ in vcores; each master has one. */
  final int shapes;
  final int warmSeconds;
  final int windows;
  final int windowSeconds;
  final int settleSeconds;
  final int pacedWindows;
  final int pacedWindowSeconds;
  final int lightWindows;
  /** The applications' type, and what their AMs' environment says of their stages. */
  final String applicationType;
  final String stages;
  /** Every so many asks of a master are for a reduce; 0: none, and no ask is for a map. */
  final int reduceEvery;
  /** Where to write the steps of each ask of ours that was served; null: nowhere. */
  final String trace;
  /** Settings of the configuration, given as {@code conf:NAME=VALUE}. */
  final Map<String, String> configuration = new TreeMap<>();

  private final Map<String, String> given = new HashMap<>();

  BenchmarkSettings(String[] arguments) {
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      if (equals < 1) {
        throw new IllegalArgumentException("expected name=value, found '" + argument + "'");
      }
      String name = argument.substring(0, equals);
      String value = argument.substring(equals + 1);
      if (name.startsWith("conf:")) {
        configuration.put(name.substring("conf:".length()), value);
      } else {
        given.put(name, value);
      }
    }
    scheduler = text("scheduler");
    folder = text("folder");
    nodes = number("nodes", 1000);
    slots = number("slots", 40);
    applications = number("applications", 200);
    queues = number("queues", 4);
    shapes = number("shapes", 1);
    warmSeconds = number("warm_s", 45);
    windows = number("windows", 4);
    windowSeconds = number("window_s", 5);
    settleSeconds = number("settle_s", 15);
    pacedWindows = number("paced_windows", 4);
    pacedWindowSeconds = number("paced_window_s", 8);
    lightWindows = number("light_windows", 4);
    applicationType = given.getOrDefault("application_type", "LOAD");
    given.remove("application_type");
    stages = given.remove("stages");
    reduceEvery = number("reduce_every", 0);
    trace = given.remove("trace");
    if (!given.isEmpty()) {
      throw new IllegalArgumentException("unknown arguments " + given.keySet());
    }
  }

  private String text(String name) {
    String value = given.remove(name);
    if (value == null) {
      throw new IllegalArgumentException("the argument " + name + "=... is missing");
    }
    return value;
  }

  private int number(String name, int preset) {
    String value = given.remove(name);
    if (value == null) {
      return preset;
    }
    try {
      return Integer.parseInt(value);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(name + "=" + value + ": expected a whole number", e);
    }
  }
}
