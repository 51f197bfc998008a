package org.loomcard.yarn.wire;

import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The fields of the record {@code application_added}; tags and hints are sorted, so that equal ones
 * read equal.
 */
public final class ApplicationRecord {
  public final String id;
  /** The leaf queue's number in the policy configuration applied. */
  public final int queue;
  public final String user;
  public final String name;
  public final String type;
  public final Collection<String> tags;
  public final int priority;
  public final long submittedMs;
  public final Map<String, String> hints;

  public ApplicationRecord(String id, int queue, String user, String name, String type,
      Collection<String> tags, int priority, long submittedMs, Map<String, String> hints) {
    this.id = id;
    this.queue = queue;
    this.user = user;
    this.name = name;
    this.type = type;
    this.tags = Collections.unmodifiableSet(new TreeSet<>(tags));
    this.priority = priority;
    this.submittedMs = submittedMs;
    this.hints = Collections.unmodifiableMap(new TreeMap<>(hints));
  }
}
