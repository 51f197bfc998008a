package org.loomcard.lines;

import static org.junit.Assert.assertEquals;

import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameter;
import org.junit.runners.Parameterized.Parameters;

/**
 * The classes of the scheduler and of the embedded cluster, built with one release of Hadoop, link
 * with the jars of another. Other libraries are those of the release that they were built with.
 */
@RunWith(Parameterized.class)
public final class LinkTest {
  private static final File SHIM = new File("../shim/target/classes");
  /** Scheduler and embedded cluster for Hadoop 2.7, with stand-ins of classes that it lacks. */
  private static final File OF_2_7 = new File("../line-2.7/target/classes");
  private static final File EMBEDDED = new File("../embedded/target/classes");
  private static final File LIBRARIES = new File("../dist/target/lib");
  private static final File LISTS = new File("../../hadoop-jars");
  private static final File RELEASES = new File("target/hadoop");
  /** The name of the release of Hadoop. */
  @Parameter
  public String release;
  private URLClassLoader loader;

  /** The releases whose jars `make lines` has fetched. */
  @Parameters(name = "{0}")
  public static List<String> releases() {
    return Stream.of(RELEASES.list()).sorted().collect(Collectors.toList());
  }

  @Before
  public void load() throws MalformedURLException {
    List<URL> urls = new ArrayList<>();
    urls.add(shim().toURI().toURL());
    urls.add(EMBEDDED.toURI().toURL());
    List<File> jars = new ArrayList<>(Arrays.asList(new File(RELEASES, release).listFiles()));
    jars.addAll(Arrays.asList(LIBRARIES.listFiles((folder, name) ->
        !name.matches("(loomcard|hadoop-(auth|common|yarn)).*"))));
    for (File jar : jars) {
      urls.add(jar.toURI().toURL());
    }
    loader = new URLClassLoader(urls.toArray(new URL[0]),
        ClassLoader.getSystemClassLoader().getParent());
    Thread.currentThread().setContextClassLoader(loader);
  }

  @After
  public void close() throws Exception {
    Thread.currentThread().setContextClassLoader(getClass().getClassLoader());
    loader.close();
  }

  /** The scheduler is made, and a ResourceManager that starts finds nothing missing. */
  @Test
  public void theSchedulerStarts() throws Exception {
    loader.loadClass("org.loomcard.yarn.LoomcardScheduler").getConstructor().newInstance();
    check().getMethod("require").invoke(null);
  }

  /** Every class, method and field that ours use is there, and no class of ours lacks one. */
  @Test
  public void nothingIsMissing() throws Exception {
    List<Path> paths = new ArrayList<>(Collections.singleton(shim().toPath()));
    if (!shim().equals(OF_2_7) && runsEmbedded()) {
      paths.add(EMBEDDED.toPath());
    }
    Object missing = check().getMethod("missing", Iterable.class, ClassLoader.class)
        .invoke(null, paths, loader);
    assertEquals(Collections.emptyMap(), missing);
  }

  private Class<?> check() throws ClassNotFoundException {
    return loader.loadClass("org.loomcard.yarn.hadoop.LinkCheck");
  }

  private File shim() {
    return release.startsWith("2.7.") ? OF_2_7 : SHIM;
  }

  /** Whether the embedded cluster runs this release: of each line it runs one. */
  private boolean runsEmbedded() throws IOException {
    String jar = "hadoop-common-" + release + ".jar";
    for (File list : LISTS.listFiles()) {
      if (new String(Files.readAllBytes(list.toPath()), StandardCharsets.UTF_8).contains(jar)) {
        return true;
      }
    }
    return new File(LIBRARIES, jar).exists();
  }
}
