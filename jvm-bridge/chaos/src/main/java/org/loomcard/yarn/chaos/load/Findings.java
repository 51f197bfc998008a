package org.loomcard.yarn.chaos.load;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** What the virtual load saw: violations as events, and counts. Any thread may call it. */
public final class Findings {
  private final CommandLoop commands;
  private final Map<String, LongAdder> counts = new ConcurrentHashMap<>();

  public Findings(CommandLoop commands) {
    this.commands = commands;
  }

  void count(String what) {
    counts.computeIfAbsent(what, name -> new LongAdder()).increment();
  }

  public Map<String, Long> counts() {
    Map<String, Long> sums = new TreeMap<>();
    counts.forEach((what, count) -> sums.put(what, count.sum()));
    return sums;
  }

  /** Records something that must never happen. */
  void violation(String kind, String text) {
    count("violation " + kind);
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("kind", kind);
    facts.put("text", text);
    facts.put("at_ms", System.currentTimeMillis());
    commands.event("violation", facts);
  }

  /** Records that the probe waited from {@code since} until {@code until}, ms since 1970. */
  void waited(long since, long until) {
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("since_ms", since);
    facts.put("until_ms", until);
    commands.event("wait", facts);
  }

  /** Records how a greedy application ended. */
  void greedy(String kind, String what) {
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("kind", kind);
    facts.put("what", what);
    commands.event("greedy", facts);
  }
}
