package org.loomcard.yarn.web;

import javax.inject.Inject;
import javax.inject.Singleton;
import javax.ws.rs.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.RMWebServices;

/**
 * YARN's own REST services, unchanged, for a yarn-site.xml that still names this class in
 * {@code yarn.webapp.custom.webservice.class}. {@link WebFilter} answers our paths. The next
 * version has no such class.
 */
@Singleton
@Path("/ws/v1/cluster")
public final class LoomcardWebServices extends RMWebServices {
  /** Called by the ResourceManager's injector. */
  @Inject
  public LoomcardWebServices(ResourceManager rm, Configuration conf) {
    super(rm, conf);
  }
}
