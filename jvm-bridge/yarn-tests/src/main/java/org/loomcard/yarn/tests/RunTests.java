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
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

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
    DiscoverySelector chosen = DiscoverySelectors.selectClass(Class.forName(args[0]));
    LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
        .selectors(chosen).filters(new Chosen(left)).build();
    warmUp();
    try (PrintWriter out = new PrintWriter(
        Files.newBufferedWriter(new File(args[1]).toPath(), StandardCharsets.UTF_8), true)) {
      LauncherFactory.create().execute(request, new Lines(out));
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

  /** Returns the name of the test's method; that of a container, such as a class, is empty. */
  private static String method(Optional<TestSource> source) {
    return source.filter(MethodSource.class::isInstance)
        .map(found -> ((MethodSource) found).getMethodName()).orElse("");
  }

  /** Accepts all methods except those left out, or only the marked ones. */
  private static final class Chosen implements PostDiscoveryFilter {
    private final Set<String> left;
    private final boolean only;

    private Chosen(Set<String> left) {
      this.left = left;
      this.only = left.stream().anyMatch(name -> name.startsWith("only:"));
    }

    @Override
    public FilterResult apply(TestDescriptor test) {
      String name = method(test.getSource());
      return FilterResult.includedIf(name.isEmpty()
          || (only ? left.contains("only:" + name) : !left.contains(name)));
    }
  }

  /** Writes one line for each test. */
  private static final class Lines implements TestExecutionListener {
    private final ObjectMapper json = new ObjectMapper();
    private final PrintWriter out;
    private long begin;

    private Lines(PrintWriter out) {
      this.out = out;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
      begin = System.nanoTime();
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
      boolean failed = result.getStatus() == TestExecutionResult.Status.FAILED;
      if (!test.isTest() && !failed) {
        return;
      }
      String name = method(test.getSource());
      ObjectNode line = json.createObjectNode()
          .put("test", name.isEmpty() ? test.getDisplayName() : name)  // the class cannot be set up
          .put("outcome", failed ? "failed"
              : result.getStatus() == TestExecutionResult.Status.ABORTED ? "skipped" : "passed")
          .put("ms", (System.nanoTime() - begin) / 1_000_000);
      result.getThrowable().ifPresent(thrown -> line.put("message", where(thrown)));
      try {
        out.println(json.writeValueAsString(line));
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }

    private static String where(Throwable thrown) {
      StackTraceElement[] stack = thrown.getStackTrace();
      return Stream.concat(Stream.of(thrown), Arrays.stream(stack).limit(STACK))
          .map(String::valueOf).collect(Collectors.joining(" < "));
    }
  }
}
