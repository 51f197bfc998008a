package org.loomcard.yarn.web;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.servlet.Filter;
import javax.servlet.FilterChain;
import javax.servlet.FilterConfig;
import javax.servlet.ServletException;
import javax.servlet.ServletRequest;
import javax.servlet.ServletResponse;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IOUtils;
import org.apache.http.NameValuePair;
import org.apache.http.client.utils.URLEncodedUtils;
import org.loomcard.yarn.status.StatusSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers Loomcard's paths in the ResourceManager's web server; docs/operate/rest.md is the
 * contract. Every other path goes to YARN untouched. So does every path on a standby, which YARN
 * redirects to the active ResourceManager.
 */
public final class WebFilter implements Filter {
  private static final Logger LOG = LoggerFactory.getLogger(WebFilter.class);
  private static final String PAGE = "/cluster/scheduler";
  private static final String DOCUMENT = "/ws/v1/cluster/scheduler";
  private static final String ACTIVITIES = DOCUMENT + "/activities";
  private static final String OF_APPLICATION = DOCUMENT + "/app-activities/";
  private static final String CONF = "/ws/v1/cluster/scheduler-conf";
  private static final String VALIDATE = CONF + "/validate";
  private static final String POLICY = "/ws/v1/cluster/loomcard/policy";
  private static final String EXPLAIN = "/ws/v1/cluster/loomcard/explain";
  private static final String HISTORY = POLICY + "/history";
  private static final String ROLLBACK = POLICY + "/rollback";
  /** Every path of ours that answers with a document, with its methods. */
  private static final Map<String, String> METHODS = new HashMap<>();
  /** The browser loads nothing from another host, and runs no script that stands in the page. */
  private static final String CONTENT_SECURITY =
      "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
  private static final int COPIED_AT_ONCE = 8192;

  static {
    METHODS.put(DOCUMENT, "GET, HEAD");
    METHODS.put(ACTIVITIES, "GET, HEAD");
    METHODS.put(OF_APPLICATION, "GET, HEAD");
    METHODS.put(CONF, "GET, HEAD");
    METHODS.put(VALIDATE, "POST");
    METHODS.put(POLICY, "GET, HEAD, PUT");
    METHODS.put(EXPLAIN, "GET, HEAD");
    METHODS.put(HISTORY, "GET, HEAD");
    METHODS.put(ROLLBACK, "POST");
  }

  private final Scrapers scrapers = new Scrapers();
  private FilterConfig settings;

  @Override
  public void init(FilterConfig config) {
    settings = config;
  }

  @Override
  public void destroy() {
  }

  @Override
  public void doFilter(ServletRequest servletRequest, ServletResponse servletResponse,
      FilterChain chain) throws IOException, ServletException {
    HttpServletRequest request = (HttpServletRequest) servletRequest;
    HttpServletResponse response = (HttpServletResponse) servletResponse;
    String path = path(request);
    if (path.equals(Scrapers.PATH)) {
      scrapers.note(request);
    }
    boolean isPage = path.equals(PAGE) || path.startsWith(PAGE + "/");
    if (!isPage && !METHODS.containsKey(resource(path))) {
      chain.doFilter(request, response);
      return;
    }
    WebSide.Registered scheduler = WebSide.active(settings);
    if (scheduler == null) {
      chain.doFilter(request, response);
      return;
    }
    try {
      answer(isPage, path, scheduler, request, response);
    } catch (IOException | RuntimeException | LinkageError e) {
      LOG.warn("{} {} failed", request.getMethod(), path, e);
      if (response.isCommitted()) {
        throw e;
      }
      response.resetBuffer();
      send(response, HttpServletResponse.SC_INTERNAL_SERVER_ERROR, PolicyUpload.problem(
          "The scheduler could not answer: " + PolicyUpload.printable(e.toString()),
          "The ResourceManager's log says more."));
    }
  }

  /** Returns the path as the server maps it to filters and servlets, without a slash at its end. */
  private static String path(HttpServletRequest request) {
    String path = request.getContextPath() + request.getServletPath()
        + (request.getPathInfo() == null ? "" : request.getPathInfo());
    return path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
  }

  /** Returns the path without what stands in it for one application. */
  private static String resource(String path) {
    return path.startsWith(OF_APPLICATION) ? OF_APPLICATION : path;
  }

  private void answer(boolean isPage, String path, WebSide.Registered scheduler,
      HttpServletRequest request, HttpServletResponse response) throws IOException {
    StatusSource status = scheduler.status();
    String method = request.getMethod();
    String allowed = isPage ? "GET, HEAD" : METHODS.get(resource(path));
    if (!Arrays.asList(allowed.split(", ")).contains(method)) {
      response.setHeader("Allow", allowed + ", OPTIONS");
      boolean asks = method.equals("OPTIONS");
      send(response, asks ? HttpServletResponse.SC_OK : HttpServletResponse.SC_METHOD_NOT_ALLOWED,
          PolicyUpload.problem("The methods here are " + allowed + ".", "Use one of them."));
    } else if (isPage) {
      file(path.equals(PAGE + "/page.js") ? "page.js" : path.equals(PAGE + "/page.css")
          ? "page.css" : "page.html", response);
    } else if (status.bridge() == null) {
      send(response, HttpServletResponse.SC_SERVICE_UNAVAILABLE, PolicyUpload.problem(
          "The ResourceManager is still starting.", "Call again in a moment."));
    } else if (path.equals(DOCUMENT)) {
      document(status, query(request), response);
    } else if (path.equals(ACTIVITIES)) {
      send(response, HttpServletResponse.SC_OK,
          ActivitiesDocument.ofCluster(status, query(request)));
    } else if (path.startsWith(OF_APPLICATION)) {
      send(response, HttpServletResponse.SC_OK, ActivitiesDocument.ofApplication(status,
          path.substring(OF_APPLICATION.length()), query(request)));
    } else if (path.equals(EXPLAIN)) {
      explanation(status, query(request), response);
    } else if (path.equals(CONF)) {
      send(response, HttpServletResponse.SC_OK, SchedulerDocument.conf(status));
    } else if (path.equals(HISTORY)) {
      send(response, HttpServletResponse.SC_OK, new PolicyHistory(status.history()).document());
    } else if (method.equals("PUT") || method.equals("POST")) {
      PolicyUpload.Reply reply = change(path, scheduler.conf, status, request);
      send(response, reply.status, reply.document);
    } else {
      send(response, HttpServletResponse.SC_OK, SchedulerDocument.policy(status));
    }
  }

  private static PolicyUpload.Reply change(String path, Configuration conf, StatusSource status,
      HttpServletRequest request) throws IOException {
    PolicyUpload upload = new PolicyUpload(conf, status);
    List<NameValuePair> query = query(request);
    Caller caller = Caller.of(conf, request);
    if (path.equals(ROLLBACK)) {
      return upload.rollback(caller, first(query, "version", null));
    }
    return upload.put(caller, first(query, "name", "policy.yml"),
        path.equals(VALIDATE) ? "true" : PolicyUpload.dryRun(query), request.getInputStream());
  }

  /** Sends the scheduler's document; {@code limit} says how many asks of a leaf queue it lists. */
  private void document(StatusSource status, List<NameValuePair> query,
      HttpServletResponse response) throws IOException {
    String limit = first(query, "limit", String.valueOf(SchedulerDocument.USUAL_LIMIT));
    int number = -1;
    try {
      number = Integer.parseInt(limit);
    } catch (NumberFormatException e) {
      // the answer below says what is expected
    }
    if (number < 0 || number > SchedulerDocument.HIGHEST_LIMIT) {
      send(response, HttpServletResponse.SC_BAD_REQUEST, PolicyUpload.problem(
          "limit is not a number from 0 to " + SchedulerDocument.HIGHEST_LIMIT + ".",
          "It says how many asks of each queue are listed, such as limit=100."));
    } else {
      JsonObject document = SchedulerDocument.enveloped(status, number);
      document.getAsJsonObject("scheduler").getAsJsonObject("schedulerInfo")
          .getAsJsonObject("loomcard").add("scrapers", scrapers.document());
      send(response, HttpServletResponse.SC_OK, document);
    }
  }

  private static void explanation(StatusSource status, List<NameValuePair> query,
      HttpServletResponse response) throws IOException {
    String application = first(query, "application", null);
    String queue = first(query, "queue", null);
    if ((application == null) == (queue == null)) {
      send(response, HttpServletResponse.SC_BAD_REQUEST, PolicyUpload.problem(
          "Expected either application or queue.",
          "Give one of them, as in explain?application=application_1790000000000_0001."));
      return;
    }
    String kind = queue == null ? "application" : "queue";
    String name = queue == null ? application : queue;
    JsonObject found = ExplanationDocument.of(status, kind, name);
    if (found == null) {
      send(response, HttpServletResponse.SC_NOT_FOUND, PolicyUpload.problem(
          "There is no " + kind + " " + PolicyUpload.printable(name) + ".",
          "loomcard status lists queues and applications."));
    } else {
      send(response, HttpServletResponse.SC_OK, found);
    }
  }

  private static void file(String name, HttpServletResponse response) throws IOException {
    String kind = name.substring(name.indexOf('.') + 1);
    response.setContentType("text/" + (kind.equals("js") ? "javascript" : kind)
        + "; charset=utf-8");
    response.setHeader("Content-Security-Policy", CONTENT_SECURITY);
    response.setHeader("X-Content-Type-Options", "nosniff");
    try (InputStream text = WebFilter.class.getResourceAsStream(name)) {
      IOUtils.copyBytes(text, response.getOutputStream(), COPIED_AT_ONCE, false);
    }
  }

  private static void send(HttpServletResponse response, int status, JsonObject document)
      throws IOException {
    byte[] bytes = document.toString().getBytes(StandardCharsets.UTF_8);
    response.setStatus(status);
    response.setContentType("application/json; charset=utf-8");
    response.setHeader("X-Content-Type-Options", "nosniff");
    response.setContentLength(bytes.length);
    response.getOutputStream().write(bytes);
  }

  /** Reads the query alone: to read parameters, a server would consume the body of a form. */
  private static List<NameValuePair> query(HttpServletRequest request) {
    String query = request.getQueryString();
    return URLEncodedUtils.parse(query == null ? "" : query, StandardCharsets.UTF_8);
  }

  static String first(List<NameValuePair> query, String name, String absent) {
    for (NameValuePair each : query) {
      if (each.getName().equals(name)) {
        return each.getValue() == null ? "" : each.getValue();
      }
    }
    return absent;
  }
}
