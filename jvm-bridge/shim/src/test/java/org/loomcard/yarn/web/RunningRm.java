package org.loomcard.yarn.web;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.Socket;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.loomcard.yarn.config.ApplyToken;

/** A real ResourceManager with its web server on a port of the system's choice. */
final class RunningRm {
  private static final int TIMEOUT_MS = 30_000;
  /** {@code http://localhost:port}. */
  final String address;
  /** Sent with every change, as an administrator's command does it, until a test changes it. */
  final Map<String, String> headers = new HashMap<>();
  final ResourceManager manager;
  private final Path folder;

  private RunningRm(ResourceManager manager, Path folder, String address) {
    this.manager = manager;
    this.folder = folder;
    this.address = address;
    IdleScheduler.STATUS.token = new ApplyToken(folder.resolve("state").toFile());
    IdleScheduler.STATUS.token.prepare();
    resetHeaders();
  }

  String token() {
    try {
      return new String(Files.readAllBytes(IdleScheduler.STATUS.token.file()),
          StandardCharsets.US_ASCII);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  void resetHeaders() {
    headers.clear();
    headers.put("X-XSRF-HEADER", "test");
    headers.put("X-Loomcard-Token", token());
  }

  static RunningRm start(Class<? extends ResourceScheduler> scheduler, Configuration conf)
      throws IOException {
    DefaultMetricsSystem.setMiniClusterMode(true);
    Path folder = Files.createTempDirectory("loomcard-web");
    conf.set("hadoop.tmp.dir", folder.toString());
    conf.set("yarn.node-attribute.fs-store.root-dir",
        folder.resolve("attributes").toUri().toString());
    conf.setClass(YarnConfiguration.RM_SCHEDULER, scheduler, ResourceScheduler.class);
    conf.setBoolean(YarnConfiguration.IS_MINI_YARN_CLUSTER, true);
    for (String key : new String[] {YarnConfiguration.RM_ADDRESS,
        YarnConfiguration.RM_SCHEDULER_ADDRESS, YarnConfiguration.RM_RESOURCE_TRACKER_ADDRESS,
        YarnConfiguration.RM_ADMIN_ADDRESS, YarnConfiguration.RM_WEBAPP_ADDRESS}) {
      conf.set(key, "localhost:0");
    }
    ResourceManager manager = new ResourceManager();
    manager.init(conf);
    manager.start();
    String address = manager.getConfig().get(YarnConfiguration.RM_WEBAPP_ADDRESS);
    return new RunningRm(manager, folder,
        "http://localhost:" + address.substring(address.lastIndexOf(':') + 1));
  }

  void stop() {
    manager.stop();
    FileUtil.fullyDelete(folder.toFile());
  }

  Answer get(String path, String accept) throws IOException {
    HttpURLConnection connection = open(path);
    if (accept != null) {
      connection.setRequestProperty("Accept", accept);
    }
    return answer(connection);
  }

  Answer put(String path, String body) throws IOException {
    return put(path, body.getBytes(StandardCharsets.UTF_8));
  }

  Answer put(String path, byte[] body) throws IOException {
    HttpURLConnection connection = change(path);
    connection.setRequestMethod("PUT");
    connection.setDoOutput(true);
    connection.setRequestProperty("Content-Type", "application/yaml");
    connection.getOutputStream().write(body);
    return answer(connection);
  }

  /**
   * A call that sends only the beginning of its body: without that the server does not even look.
   */
  Socket stalled(String path) throws IOException {
    URL url = new URL(address + path);
    Socket socket = new Socket(url.getHost(), url.getPort());
    StringBuilder call = new StringBuilder("PUT " + url.getFile() + " HTTP/1.1\r\n"
        + "Host: localhost\r\nContent-Length: 100\r\n");
    headers.forEach((name, value) -> call.append(name + ": " + value + "\r\n"));
    socket.getOutputStream()
        .write(call.append("\r\npolicy").toString().getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  Answer post(String path) throws IOException {
    HttpURLConnection connection = change(path);
    connection.setRequestMethod("POST");
    connection.setDoOutput(true);
    connection.setFixedLengthStreamingMode(0);
    connection.getOutputStream().close();
    return answer(connection);
  }

  private HttpURLConnection change(String path) throws IOException {
    HttpURLConnection connection = open(path);
    headers.forEach(connection::setRequestProperty);
    return connection;
  }

  Answer call(String method, String path) throws IOException {
    HttpURLConnection connection = open(path);
    connection.setRequestMethod(method);
    return answer(connection);
  }

  private HttpURLConnection open(String path) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) new URL(address + path).openConnection();
    connection.setInstanceFollowRedirects(false);
    connection.setConnectTimeout(TIMEOUT_MS);
    connection.setReadTimeout(TIMEOUT_MS);
    return connection;
  }

  private static Answer answer(HttpURLConnection connection) throws IOException {
    int status = connection.getResponseCode();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (InputStream body = status < 400
        ? connection.getInputStream() : connection.getErrorStream()) {
      byte[] buffer = new byte[8192];
      int count = body == null ? -1 : body.read(buffer);
      while (count >= 0) {
        bytes.write(buffer, 0, count);
        count = body.read(buffer);
      }
    }
    return new Answer(status, connection.getHeaderFields(),
        new String(bytes.toByteArray(), StandardCharsets.UTF_8));
  }

  /** An answer of the server. */
  static final class Answer {
    final int status;
    final String type;
    final String body;
    private final Map<String, List<String>> headers;

    private Answer(int status, Map<String, List<String>> headers, String body) {
      this.status = status;
      this.headers = headers;
      this.type = header("Content-Type");
      this.body = body;
    }

    /** Returns the first header of that name; empty if there is none. */
    String header(String name) {
      return headers.containsKey(name) ? headers.get(name).get(0) : "";
    }
  }
}
