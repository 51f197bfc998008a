package org.loomcard.yarn.hadoop;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.util.VersionInfo;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;

/**
 * Which classes, methods and fields the scheduler needs and this Hadoop lacks. Its version is not
 * looked at: vendors bring methods of later releases back. A ResourceManager checks it at its start
 * and {@code loomcard doctor} before that.
 */
public final class LinkCheck {
  private static final String OURS = "org/loomcard/yarn/";
  /** YARN cannot call a method here whose signature names a class that it lacks. */
  private static final String ADAPTERS = "org/loomcard/yarn/hadoop/";
  private static final Pattern CLASS_NAME = Pattern.compile("L([^;]+);");
  private static final Pattern PARAMETER = Pattern.compile("(\\[*)(?:L([^;]+);|([BCDFIJSZ]))");
  private static final Map<Character, String> PRIMITIVES = Stream.of("Bbyte", "Cchar", "Ddouble",
      "Ffloat", "Iint", "Jlong", "Sshort", "Zboolean")
      .collect(Collectors.toMap(each -> each.charAt(0), each -> each.substring(1)));
  private static final int SHOWN = 5;
  private final ClassLoader loader;
  private final Map<String, ClassFile> known = new HashMap<>();
  private final Map<String, String> missing = new TreeMap<>();

  private LinkCheck(ClassLoader loader) {
    this.loader = loader;
  }

  /** Prints the release of the Hadoop on the class path; exits with 1 if something is missing. */
  public static void main(String[] arguments) {
    Set<String> lacks = OfThisHadoop.LACKS;
    System.out.println(lacks.isEmpty() ? "Hadoop " + release() : sentence(lacks));
    System.exit(lacks.isEmpty() ? 0 : 1);
  }

  /**
   * Checks that nothing is missing in this Hadoop.
   *
   * @throws YarnRuntimeException that says what is missing, in which release, and what to do
   */
  public static void require() {
    if (!OfThisHadoop.LACKS.isEmpty()) {
      throw new YarnRuntimeException(sentence(OfThisHadoop.LACKS));
    }
  }

  /**
   * Returns what classes of ours miss, and for each the class that needs it.
   *
   * @param places jars or folders with the classes
   * @param loader finds all other classes
   */
  public static Map<String, String> missing(Iterable<Path> places, ClassLoader loader)
      throws IOException {
    LinkCheck check = new LinkCheck(loader);
    List<ClassFile> ours = new ArrayList<>();
    for (Path place : places) {
      for (String file : files(place)) {
        ours.add(check.classFile(file.substring(0, file.length() - ".class".length())));
      }
    }
    ours.forEach(check::look);
    return check.missing;
  }

  private static List<String> files(Path place) throws IOException {
    if (Files.isDirectory(place)) {
      try (Stream<Path> all = Files.walk(place)) {
        return ours(all.map(file -> place.relativize(file).toString()
            .replace(File.separatorChar, '/')));
      }
    }
    try (JarFile jar = new JarFile(place.toFile())) {
      return ours(jar.stream().map(Object::toString));
    }
  }

  private static List<String> ours(Stream<String> files) {
    return files.filter(file -> file.startsWith(OURS) && file.endsWith(".class")
        && !file.endsWith("-info.class")).collect(Collectors.toList());
  }

  private void look(ClassFile ours) {
    boolean adapter = ours.name.startsWith(ADAPTERS);
    for (String named : ours.classes) {
      if (!named.startsWith("[") && classFile(named) == null && !adapter) {
        missing.put(named.replace('/', '.'), ours.name);
      }
    }
    for (ClassFile.Use use : ours.uses) {
      // A missing class was named above; java/ has methods that take any arguments.
      if (!use.owner.startsWith("[") && !use.owner.startsWith("java/")
          && classFile(use.owner) != null && !(adapter && namesMissing(use.member))) {
        look(ours, use);
      }
    }
    Map<String, String> inherited = new HashMap<>();
    lineage(ours.name).forEach(base -> base.methods.forEach((method, access) -> {
      if (base != ours && Modifier.isFinal(access) && !Modifier.isPrivate(access)
          && !Modifier.isStatic(access) && ours.methods.containsKey(method)) {
        missing.put("overridable " + spoken(base.name, method), ours.name);
      }
      if (Modifier.isAbstract(access)) {
        inherited.put(method, base.name);
      }
    }));
    if (!Modifier.isAbstract(ours.access)) {
      inherited.forEach((method, base) -> {
        if (lineage(ours.name).stream().map(each -> each.methods.get(method))
            .noneMatch(access -> access != null && !Modifier.isAbstract(access))) {
          missing.put("default " + spoken(base, method), ours.name);
        }
      });
    }
  }

  private void look(ClassFile ours, ClassFile.Use use) {
    boolean method = use.member.contains("(");
    for (ClassFile each : lineage(use.owner)) {
      Integer access = (method ? each.methods : each.fields).get(use.member);
      if (access != null && (each.name.equals(use.owner) || !use.member.startsWith("<init>"))) {
        if (!Modifier.isPublic(access) && !Modifier.isProtected(access)
            && !folder(each.name).equals(folder(ours.name))) {
          missing.put("visible " + spoken(use.owner, use.member), ours.name);
        }
        return;
      }
    }
    String owner = lineage(use.owner).stream().map(each -> each.name)
        .filter(name -> !name.startsWith(OURS)).findFirst().orElse(use.owner);
    missing.put(spoken(owner, use.member), ours.name);
  }

  /** A class, its superclasses and then all their interfaces, as far as they are there. */
  private Set<ClassFile> lineage(String name) {
    Set<ClassFile> all = new LinkedHashSet<>();
    for (ClassFile each = classFile(name); each != null; each = classFile(each.parents.get(0))) {
      all.add(each);
    }
    for (ClassFile each : new ArrayList<>(all)) {
      each.parents.stream().skip(1).forEach(parent -> all.addAll(lineage(parent)));
    }
    return all;
  }

  private boolean namesMissing(String member) {
    for (Matcher named = CLASS_NAME.matcher(member); named.find();) {
      if (classFile(named.group(1)) == null) {
        return true;
      }
    }
    return false;
  }

  /** Returns null where there is no such class. */
  private ClassFile classFile(String name) {
    if (name != null && !known.containsKey(name)) {
      try (InputStream file = loader.getResourceAsStream(name + ".class")) {
        known.put(name, file == null ? null : new ClassFile(file));
      } catch (IOException e) {
        throw new UncheckedIOException(name, e);
      }
    }
    return known.get(name);
  }

  private static String folder(String name) {
    return name.substring(0, name.lastIndexOf('/') + 1);
  }

  /** A member as one writes it in Java, without packages. */
  private static String spoken(String owner, String member) {
    int end = member.indexOf(' ');
    String name = simple(owner) + "." + member.substring(0, end);
    if (!member.contains("(")) {
      return name;
    }
    List<String> parameters = new ArrayList<>();
    Matcher each = PARAMETER.matcher(member.substring(end + 2, member.indexOf(')')));
    while (each.find()) {
      String type = each.group(2) != null ? simple(each.group(2))
          : PRIMITIVES.get(each.group(3).charAt(0));
      parameters.add(type + String.join("", Collections.nCopies(each.group(1).length(), "[]")));
    }
    return name.replace(".<init>", "") + "(" + String.join(", ", parameters) + ")";
  }

  private static String simple(String name) {
    return name.substring(name.lastIndexOf('/') + 1).replace('$', '.');
  }

  private static String release() {
    return VersionInfo.getVersion();
  }

  static String sentence(Set<String> lacks) {
    String more = lacks.size() > SHOWN ? " and no " + (lacks.size() - SHOWN) + " more" : "";
    return "Loomcard cannot schedule for Hadoop " + release() + ", whose YARN has no "
        + lacks.stream().limit(SHOWN).collect(Collectors.joining(", no ")) + more
        + ": use Hadoop 2.10 or 3.1 to 3.5, or another scheduler";
  }

  /** Found once in a JVM: a fail-over must not wait for it. */
  private static final class OfThisHadoop {
    private static final Set<String> LACKS = find();

    private static Set<String> find() {
      Set<String> lacks = new TreeSet<>();
      try {
        Path here = new File(LinkCheck.class.getProtectionDomain().getCodeSource().getLocation()
            .toURI()).toPath();
        lacks.addAll(missing(Collections.singleton(here), LinkCheck.class.getClassLoader())
            .keySet());
        lacks.addAll(HadoopCalls.missing());
      } catch (LinkageError e) {
        lacks.add(String.valueOf(e.getMessage()).replace('/', '.'));
      } catch (Exception e) {
        throw new YarnRuntimeException("The classes of the scheduler cannot be read", e);
      }
      return lacks;
    }
  }
}
