package org.loomcard.yarn.tests;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.Request;
import org.junit.runner.manipulation.Filter;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/**
 * {@code RunTests CLASS FILE [only:METHOD | METHOD]...}: runs the tests of a class except the named
 * ones, or only those marked {@code only:}. It writes one line of JSON to the file for each test
 * that ended, so that a class that is stopped leaves its results so far.
 */
public final class RunTests {
  private static final int STACK = 4;

  private RunTests() {
  }

  /** Always ends the JVM, because tests leave threads behind. */
  public static void main(String[] args) throws Exception {
    Set<String> left = new HashSet<>(Arrays.asList(args).subList(2, args.length));
    Request request = Request.aClass(Class.forName(args[0])).filterWith(new Chosen(left));
    warmUp();
    try (PrintWriter out = new PrintWriter(
        Files.newBufferedWriter(new File(args[1]).toPath(), StandardCharsets.UTF_8), true)) {
      JUnitCore core = new JUnitCore();
      core.addListener(new Lines(out));
      core.run(request);
      out.println("{\"test\":null}");
    }
    Runtime.getRuntime().halt(0);
  }

  /** The first ResourceManager of a JVM takes seconds, possibly more than a test's time-out. */
  private static void warmUp() throws IOException {
    YarnConfiguration conf = new YarnConfiguration();
    conf.set(YarnConfiguration.RM_SCHEDULER, System.getProperty("scheduler.class"));
    DefaultMetricsSystem.setMiniClusterMode(true);
    try (MockRM manager = new MockRM(conf)) {
      manager.start();
    }
  }

  private static String method(Description test) {
    String name = String.valueOf(test.getMethodName());
    int parameter = name.indexOf('[');
    return parameter < 0 ? name : name.substring(0, parameter);
  }

  /** Accepts all methods except those left out, or only the marked ones. */
  private static final class Chosen extends Filter {
    private final Set<String> left;
    private final boolean only;

    private Chosen(Set<String> left) {
      this.left = left;
      this.only = left.stream().anyMatch(name -> name.startsWith("only:"));
    }

    @Override
    public boolean shouldRun(Description test) {
      if (test.isSuite()) {
        return true;
      }
      return only ? left.contains("only:" + method(test)) : !left.contains(method(test));
    }

    @Override
    public String describe() {
      return "chosen methods";
    }
  }

  /** Writes one line for each test. */
  private static final class Lines extends RunListener {
    private final ObjectMapper json = new ObjectMapper();
    private final PrintWriter out;
    private String outcome;
    private Throwable thrown;
    private long begin;

    private Lines(PrintWriter out) {
      this.out = out;
    }

    @Override
    public void testStarted(Description test) {
      begin = System.nanoTime();
      outcome = "passed";
      thrown = null;
    }

    @Override
    public void testFailure(Failure failure) {
      outcome = "failed";
      thrown = failure.getException();
      if (failure.getDescription().isSuite()) {  // the class itself could not be set up
        begin = System.nanoTime();
        testFinished(failure.getDescription());
      }
    }

    @Override
    public void testAssumptionFailure(Failure failure) {
      outcome = "skipped";
      thrown = failure.getException();
    }

    @Override
    public void testFinished(Description test) {
      ObjectNode line = json.createObjectNode().put("test", method(test)).put("outcome", outcome)
          .put("ms", (System.nanoTime() - begin) / 1_000_000);
      if (thrown != null) {
        StringBuilder where = new StringBuilder(String.valueOf(thrown));
        StackTraceElement[] stack = thrown.getStackTrace();
        for (int i = 0; i < Math.min(STACK, stack.length); i++) {
          where.append(" < ").append(stack[i]);
        }
        line.put("message", where.toString());
      }
      try {
        out.println(json.writeValueAsString(line));
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
