package org.loomcard.yarn.web;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import java.io.IOException;
import java.io.InputStream;
import javax.servlet.http.HttpServletRequest;
import javax.ws.rs.DefaultValue;
import javax.ws.rs.GET;
import javax.ws.rs.POST;
import javax.ws.rs.PUT;
import javax.ws.rs.Path;
import javax.ws.rs.Produces;
import javax.ws.rs.QueryParam;
import javax.ws.rs.WebApplicationException;
import javax.ws.rs.core.Context;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.Request;
import javax.ws.rs.core.Response;
import javax.ws.rs.core.UriInfo;
import javax.ws.rs.core.Variant;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.RMWebServices;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.SchedulerTypeInfo;
import org.loomcard.yarn.status.StatusProvider;
import org.loomcard.yarn.status.StatusSource;

/**
 * YARN's REST services, with Loomcard's own scheduler document and a path to read and to replace
 * the policy. Named in {@code yarn.webapp.custom.webservice.class}; docs/operate/rest.md is the
 * contract.
 */
@Singleton
@Path("/ws/v1/cluster")
public final class LoomcardWebServices extends RMWebServices {
  private static final String JSON = MediaType.APPLICATION_JSON + "; charset=utf-8";
  private static final String XML = MediaType.APPLICATION_XML + "; charset=utf-8";

  private final ResourceManager rm;
  private final Configuration conf;

  /** Called by the ResourceManager's injector. */
  @Inject
  public LoomcardWebServices(ResourceManager rm, Configuration conf) {
    super(rm, conf);
    this.rm = rm;
    this.conf = conf;
  }

  /**
   * Only removes the superclass's method from the path {@code scheduler}. An override without
   * {@code @GET} is not a resource method, and our answer is not a {@link SchedulerTypeInfo}, which
   * can name only stock schedulers.
   */
  @Override
  @Produces(JSON)
  public SchedulerTypeInfo getSchedulerInfo() {
    return new SchedulerTypeInfo();
  }

  /**
   * Returns the scheduler's document: JSON, or XML for a client that prefers it.
   *
   * @param limit how many asks are listed of each leaf queue
   */
  @GET
  @Path("scheduler")
  @Produces({JSON, XML})
  public Response schedulerDocument(@Context Request request,
      @QueryParam("limit") String limit) {
    Variant wanted = request.selectVariant(Variant.mediaTypes(
        MediaType.APPLICATION_JSON_TYPE, MediaType.APPLICATION_XML_TYPE).add().build());
    ObjectNode document = SchedulerDocument.enveloped(status(), listed(limit));
    if (wanted != null && wanted.getMediaType().isCompatible(MediaType.APPLICATION_XML_TYPE)) {
      return Response.ok(DocumentXml.write(document), XML).build();
    }
    return Response.ok(document.toString(), JSON).build();
  }

  /** Returns the policy in force. */
  @GET
  @Path("loomcard/policy")
  @Produces(JSON)
  public Response policy() {
    return Response.ok(SchedulerDocument.policy(status()).toString(), JSON).build();
  }

  /**
   * Applies the YAML of the body, or, as a dry run, returns the result that an apply would have.
   */
  @PUT
  @Path("loomcard/policy")
  @Produces(JSON)
  public Response applyPolicy(@QueryParam("name") @DefaultValue("policy.yml") String name,
      @Context UriInfo uri, @Context HttpServletRequest request, InputStream body)
      throws IOException {
    PolicyUpload upload = new PolicyUpload(conf, status());
    String dryRun = PolicyUpload.dryRun(uri.getQueryParameters());
    PolicyUpload.Reply reply = upload.put(Caller.of(conf, request), name, dryRun, body);
    return Response.status(reply.status).type(JSON).entity(reply.document.toString()).build();
  }

  /** Returns the versions that are still kept. */
  @GET
  @Path("loomcard/policy/history")
  @Produces(JSON)
  public Response policyHistory() {
    return Response.ok(new PolicyHistory(status().history()).document().toString(), JSON).build();
  }

  /** Applies an earlier version again. */
  @POST
  @Path("loomcard/policy/rollback")
  @Produces(JSON)
  public Response rollBackPolicy(@QueryParam("version") String version,
      @Context HttpServletRequest request) {
    PolicyUpload.Reply reply = new PolicyUpload(conf, status())
        .rollback(Caller.of(conf, request), version);
    return Response.status(reply.status).type(JSON).entity(reply.document.toString()).build();
  }

  private static int listed(String limit) {
    int number = -1;
    try {
      number = limit == null ? SchedulerDocument.USUAL_LIMIT : Integer.parseInt(limit);
    } catch (NumberFormatException e) {
      // the answer below says what is expected
    }
    if (number < 0 || number > SchedulerDocument.HIGHEST_LIMIT) {
      throw refused(Response.Status.BAD_REQUEST, PolicyUpload.problem(
          "limit is not a number from 0 to " + SchedulerDocument.HIGHEST_LIMIT + ".",
          "It says how many asks of each queue are listed, such as limit=100."));
    }
    return number;
  }

  private static WebApplicationException refused(Response.Status status, ObjectNode document) {
    return new WebApplicationException(
        Response.status(status).type(JSON).entity(document.toString()).build());
  }

  private StatusSource status() {
    ResourceScheduler scheduler = rm.getResourceScheduler();
    if (scheduler instanceof StatusProvider) {
      return ((StatusProvider) scheduler).status();
    }
    ObjectNode document = PolicyUpload.problem("The scheduler is " + scheduler.getClass().getName()
        + ", not Loomcard's.", "Set yarn.resourcemanager.scheduler.class,"
        + " or leave yarn.webapp.custom.webservice.class out.");
    throw refused(Response.Status.NOT_FOUND, document);
  }
}
