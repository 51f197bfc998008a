package org.loomcard.yarn.queues;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.loomcard.yarn.config.PlacementSpec;

/**
 * Which queue an application goes to, and by which placement rule; Python's {@code config/place.py}
 * decides the same, as tests/golden/placement.json says.
 */
public final class Placement {
  /** The queue that YARN writes down for an application that names none. */
  private static final String DEFAULT = "default";
  private static final String ROOT = "root";
  private final QueueNames names;
  private final Submission of;
  private String problem;

  private Placement(QueueNames names, Submission of) {
    this.names = names;
    this.of = of;
  }

  /** An application as rules see it. */
  public static final class Submission {
    private final String user;
    private final Supplier<List<String>> lookUp;
    private final String name;
    private final Collection<String> tags;
    private final String named;
    private List<String> groups;

    /**
     * @param groups looks the user's groups up, the primary first; called only if a rule needs it
     * @param queue what the submitter named; null or {@code default} for nothing
     */
    public Submission(String user, Supplier<List<String>> groups, String name,
        Collection<String> tags, String queue) {
      this.user = user;
      this.lookUp = groups;
      this.name = name == null ? "" : name;
      this.tags = tags == null ? Collections.<String>emptySet() : tags;
      this.named = queue == null || queue.equals(DEFAULT) ? "" : queue;
    }

    private List<String> groups() {
      if (groups == null) {
        groups = lookUp.get();
      }
      return groups;
    }

    private boolean has(String condition, List<String> wanted) {
      switch (condition) {
        case "user": return wanted.contains(user);
        case "primary_group": return !groups().isEmpty() && wanted.contains(groups().get(0));
        case "group": return !Collections.disjoint(wanted, groups());
        case "application": return wanted.contains(name);
        default:
          return tags.stream().anyMatch(tag -> wanted.contains(tag.toLowerCase(Locale.ROOT)));
      }
    }
  }

  /** Where an application goes. */
  public static final class Outcome {
    /** Null if the application is refused. */
    public final String queue;
    /** Counts from 1; 0 if no rule fits. */
    public final int rule;
    /** What each rule before said that applied, and why an application is refused. */
    public final List<String> why;

    private Outcome(String queue, int rule, List<String> why) {
      this.queue = queue;
      this.rule = rule;
      this.why = why;
    }
  }

  /** Returns where an application goes under these rules. */
  public static Outcome place(List<PlacementSpec> rules, QueueNames names, Submission submission) {
    Placement placement = new Placement(names, submission);
    List<String> why = new ArrayList<>();
    int number = 0;
    for (PlacementSpec rule : rules) {
      number++;
      if (!placement.applies(rule)) {
        continue;
      }
      if (rule.queue == null) {
        why.add("rule " + number + " refuses it");
        return new Outcome(null, number, why);
      }
      String path = placement.find(rule.queue, rule.levels);
      if (path != null) {
        return new Outcome(path, number, why);
      }
      why.add("rule " + number + ": " + placement.problem);
      if (rule.otherwise.equals(PlacementSpec.REJECT)) {
        return new Outcome(null, number, why);
      }
      if (!rule.otherwise.equals(PlacementSpec.NEXT)) {
        path = placement.find(rule.otherwise, 0);
        if (path == null) {
          why.add("rule " + number + ", else: " + placement.problem);
        }
        return new Outcome(path, number, why);
      }
    }
    why.add("no placement rule fits");
    return new Outcome(null, 0, why);
  }

  private boolean applies(PlacementSpec rule) {
    if (rule.named != null && rule.named == of.named.isEmpty()) {
      return false;
    }
    for (Map.Entry<String, List<String>> condition : rule.conditions.entrySet()) {
      if (!of.has(condition.getKey(), condition.getValue())) {
        return false;
      }
    }
    return true;
  }

  /** Returns the path of the leaf that a rule's path means; null, and the problem, for none. */
  private String find(String pattern, int levels) {
    List<String> parts = new ArrayList<>();
    for (String part : pattern.split("\\.", -1)) {
      String value = value(part, parts);
      if (value.isEmpty()) {
        boolean existing = part.equals("%secondary_group") || part.equals("%group");
        problem = "there is no " + part.replace("%", "") + (existing && !parts.isEmpty()
            ? " with a queue below " + String.join(".", parts) : "");
        return null;
      }
      parts.addAll(Arrays.asList(value.split("\\.", -1)));
    }
    if (parts.contains("")) {
      problem = "a part of '" + String.join(".", parts) + "' is empty";
      return null;
    }
    String path = names.absolute(parts);
    problem = path == null ? "no queue, or more than one, is called '" + parts.get(0) + "'"
        : names.whyNot(path, levels);
    return problem == null ? path : null;
  }

  private String value(String part, List<String> before) {
    switch (part) {
      case "%user": return clean(of.user);
      case "%primary_group": return of.groups().isEmpty() ? "" : clean(of.groups().get(0));
      case "%secondary_group":
        return existing(of.groups().subList(Math.min(1, of.groups().size()), of.groups().size()),
            before);
      case "%group": return existing(of.groups(), before);
      case "%specified":
        return !before.isEmpty() && of.named.startsWith(ROOT + ".")
            ? of.named.substring(ROOT.length() + 1) : of.named;
      case "%application": return of.name;
      default: return part;
    }
  }

  /** Returns the first group whose queue exists below the path so far; empty for none. */
  private String existing(List<String> groups, List<String> before) {
    for (String group : groups) {
      String name = clean(group);
      List<String> parts = new ArrayList<>(before);
      parts.add(name);
      String path = name.isEmpty() ? null : names.absolute(parts);
      if (path != null && names.has(path)) {
        return name;
      }
    }
    return "";
  }

  private static String clean(String name) {
    return name.trim().replace(".", "_dot_");
  }
}
