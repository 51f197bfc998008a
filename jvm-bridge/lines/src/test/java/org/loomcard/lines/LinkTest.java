package org.loomcard.lines;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
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
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
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
    urls.add(SHIM.toURI().toURL());
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

  /** The scheduler is made, and finds a form of every call that differs between releases. */
  @Test
  public void everyCallHasAForm() throws Exception {
    loader.loadClass("org.loomcard.yarn.LoomcardScheduler").getConstructor().newInstance();
    loader.loadClass("org.loomcard.yarn.hadoop.HadoopCalls").getMethod("require").invoke(null);
  }

  /** Every other class, method and field that ours use is there, and no class of ours lacks one. */
  @Test
  public void nothingIsMissing() throws IOException {
    Set<String> missing = new TreeSet<>();
    List<Path> paths = new ArrayList<>(Collections.singleton(SHIM.toPath()));
    if (runsEmbedded()) {
      paths.add(EMBEDDED.toPath());
    }
    JavaClasses all = new ClassFileImporter().importPaths(paths);
    assertTrue(all.contain("org.loomcard.yarn.LoomcardScheduler"));
    for (JavaClass ours : all) {
      missing.addAll(notImplemented(ours));
      ours.getMethods().forEach(method -> overridden(method)
          .filter(base -> is(base, JavaModifier.FINAL))
          .forEach(base -> missing.add(base.getFullName() + " is final")));
      ours.getAccessesFromSelf().stream().filter(access -> isCalled(access.getOrigin()))
          .forEach(access -> problem(access).ifPresent(missing::add));
    }
    assertEquals("", String.join("\n", missing));
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

  /** YARN cannot call an adapter's method whose signature names a class that it lacks. */
  private static boolean isCalled(JavaCodeUnit origin) {
    return !origin.getOwner().getPackageName().equals("org.loomcard.yarn.hadoop")
        || Stream.concat(Stream.of(origin.getRawReturnType()),
            origin.getRawParameterTypes().stream()).allMatch(LinkTest::exists);
  }

  private static boolean exists(JavaClass type) {
    return type.getBaseComponentType().isPrimitive()
        || type.getBaseComponentType().isFullyImported();
  }

  private static Optional<String> problem(JavaAccess<?> access) {
    AccessTarget target = access.getTarget();
    JavaClass owner = target.getOwner();
    if (owner.isArray() || owner.getPackageName().equals("java.lang.invoke")) {
      return Optional.empty();
    }
    String where = " in " + access.getOriginOwner().getName();
    if (!exists(owner)) {
      return Optional.of(owner.getName() + where);
    }
    Optional<? extends JavaMember> member = target.resolveMember();
    if (!member.isPresent()) {
      return Optional.of(target.getFullName() + where);
    }
    boolean visible = is(member.get(), JavaModifier.PUBLIC)
        || is(member.get(), JavaModifier.PROTECTED)
        || owner.getPackageName().equals(access.getOriginOwner().getPackageName());
    return visible ? Optional.empty() : Optional.of(target.getFullName() + " is hidden" + where);
  }

  private static Set<String> notImplemented(JavaClass ours) {
    Set<String> names = new TreeSet<>();
    if (!ours.isInterface() && !is(ours, JavaModifier.ABSTRACT)) {
      Collection<JavaMethod> all = ours.getAllMethods();
      all.stream().filter(method -> is(method, JavaModifier.ABSTRACT))
          .filter(method -> all.stream().noneMatch(other -> !is(other, JavaModifier.ABSTRACT)
              && sameSignature(other, method)))
          .forEach(method -> names.add(method.getFullName() + " in " + ours.getName()));
    }
    return names;
  }

  private static Stream<JavaMethod> overridden(JavaMethod method) {
    return is(method, JavaModifier.STATIC) || is(method, JavaModifier.PRIVATE) ? Stream.empty()
        : method.getOwner().getAllRawSuperclasses().stream()
            .flatMap(base -> base.getMethods().stream())
            .filter(other -> sameSignature(other, method));
  }

  private static boolean sameSignature(JavaMethod one, JavaMethod other) {
    return one.getName().equals(other.getName())
        && one.getDescriptor().equals(other.getDescriptor());
  }

  private static boolean is(Object element, JavaModifier modifier) {
    return element instanceof JavaClass ? ((JavaClass) element).getModifiers().contains(modifier)
        : ((JavaMember) element).getModifiers().contains(modifier);
  }
}
