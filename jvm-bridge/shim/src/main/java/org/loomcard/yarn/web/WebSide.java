package org.loomcard.yarn.web;

import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import javax.servlet.FilterConfig;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ha.HAServiceProtocol.HAServiceState;
import org.apache.hadoop.http.FilterContainer;
import org.apache.hadoop.http.FilterInitializer;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.loomcard.yarn.status.StatusProvider;
import org.loomcard.yarn.status.StatusSource;

/**
 * Puts {@link WebFilter} into the ResourceManager's web server. The scheduler registers itself
 * while it is initialised, before that server is made. No line in yarn-site.xml names this class,
 * because a NodeManager that reads the file does not have it.
 */
public final class WebSide extends FilterInitializer {
  private static final String INITIALIZERS = "hadoop.http.filter.initializers";
  private static final String STATIC_USER = "org.apache.hadoop.http.lib.StaticUserWebFilter";
  private static final String RM_AUTHENTICATION =
      "org.apache.hadoop.yarn.server.security.http.RMAuthenticationFilterInitializer";
  /** Tells the ResourceManagers of one JVM apart; never stands in a file. */
  private static final String ID = "loomcard.web.id";
  private static final Map<String, Registered> SCHEDULERS = new ConcurrentHashMap<>();

  /**
   * Shows this scheduler. A later one of the same ResourceManager takes its place: each time that
   * a ResourceManager becomes standby, it makes another.
   */
  public static void register(Configuration conf, RMContext context, StatusProvider scheduler) {
    if (conf.get(ID) == null) {
      conf.set(ID, UUID.randomUUID().toString());
    }
    SCHEDULERS.put(conf.get(ID), new Registered(conf, context, scheduler));
    Set<String> names = new LinkedHashSet<>(Arrays.asList(conf.getTrimmedStrings(INITIALIZERS)));
    names.remove("");
    if (!UserGroupInformation.isSecurityEnabled()
        && (names.isEmpty() || names.equals(Collections.singleton(STATIC_USER)))) {
      // YARN does this itself, but only if the list is Hadoop's default, and now it is not.
      conf.set(Caller.HTTP_AUTHENTICATION, Caller.SIMPLE);
      Set<String> usual = new LinkedHashSet<>(Collections.singleton(RM_AUTHENTICATION));
      usual.addAll(names);
      names = usual;
    }
    names.add(WebSide.class.getName()); // last: a filter runs after those of the names before it
    conf.set(INITIALIZERS, String.join(",", names));
  }

  /** Forgets the scheduler with these settings, which stops; null if it was never initialised. */
  public static void unregister(Configuration conf) {
    if (conf != null && conf.get(ID) != null) {
      SCHEDULERS.remove(conf.get(ID));
    }
  }

  @Override
  public void initFilter(FilterContainer container, Configuration conf) {
    container.addFilter("loomcard", WebFilter.class.getName(),
        Collections.singletonMap(ID, String.valueOf(conf.get(ID))));
  }

  /**
   * Returns what the web server with these settings shows; null if its ResourceManager is standby
   * or has no scheduler of ours.
   */
  static Registered active(FilterConfig settings) {
    Registered found = SCHEDULERS.get(settings.getInitParameter(ID));
    return found == null || found.context.getHAServiceState() == HAServiceState.STANDBY ? null
        : found;
  }

  /** A scheduler with the settings of its ResourceManager. */
  static final class Registered {
    final Configuration conf;
    private final RMContext context;
    private final StatusProvider scheduler;

    private Registered(Configuration conf, RMContext context, StatusProvider scheduler) {
      this.conf = conf;
      this.context = context;
      this.scheduler = scheduler;
    }

    StatusSource status() {
      return scheduler.status();
    }
  }
}
