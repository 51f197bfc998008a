package org.loomcard.yarn.queues;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.security.UserGroupInformation;
import org.loomcard.yarn.config.QueueSpec;

/**
 * The users that have a right on a queue: everyone ({@code *}), users, or members of groups ({@code
 * group:NAME}).
 */
final class QueueAcl {
  private static final String GROUP = "group:";
  private final boolean everyone;
  private final Set<String> users = new HashSet<>();
  private final Set<String> groups = new HashSet<>();
  private final List<String> entries;

  QueueAcl(List<String> entries) {
    this.entries = new ArrayList<>(entries);
    this.everyone = entries.contains("*");
    for (String entry : entries) {
      if (entry.startsWith(GROUP)) {
        groups.add(entry.substring(GROUP.length()));
      } else {
        users.add(entry);
      }
    }
  }

  /** Whether the user may submit to such a queue; it looks up groups if it must. */
  static boolean maySubmit(QueueSpec queue, UserGroupInformation user) {
    QueueAcl submit = new QueueAcl(queue.submit);
    QueueAcl administer = new QueueAcl(queue.administer);
    return submit.names(user) || administer.names(user) || submit.allowsGroupOf(user)
        || administer.allowsGroupOf(user);
  }

  /** Whether the list has the user's own name, or {@code *}. */
  boolean names(UserGroupInformation user) {
    return everyone || users.contains(user.getShortUserName());
  }

  boolean hasGroups() {
    return !groups.isEmpty();
  }

  /**
   * Whether it names a group of the user. Looks up groups, by Hadoop's mapping, only if it names
   * some.
   */
  boolean allowsGroupOf(UserGroupInformation user) {
    return !groups.isEmpty() && Arrays.stream(user.getGroupNames()).anyMatch(groups::contains);
  }

  /** For messages: {@code alice, group:data}, or nobody. */
  @Override
  public String toString() {
    return entries.isEmpty() ? "nobody" : String.join(", ", entries);
  }
}
