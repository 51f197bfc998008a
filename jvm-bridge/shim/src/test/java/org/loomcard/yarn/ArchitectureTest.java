package org.loomcard.yarn;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.junit.BeforeClass;
import org.junit.Test;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardAttempt;
import org.loomcard.yarn.state.Reservations;

/** Which package of the Java side may use which, and which class may do what. */
public final class ArchitectureTest {
  private static final String ROOT = "org.loomcard.yarn";
  /** For each package, the packages of ours that it may use. The root may use all. */
  private static final Map<String, Set<String>> MAY_USE = new TreeMap<>();
  /** The packages on the way to the policy process and back. */
  private static final String[] WITHOUT_YARN = {
      "json", "config", "wire", "process", "rounds", "bridge",
  };
  /** The values that the web side gets from {@code StatusSource}. */
  private static final Set<String> SHOWN = names("BridgeStatus", "State", "BridgeCounters",
      "PolicyFault", "QueueStall", "AppliedConfig", "ApplyToken", "PolicyConfig",
      "ConfigSwapResult", "Outcome", "Finding");
  private static JavaClasses ours;

  static {
    mayUse("json");
    mayUse("config", "json");
    mayUse("wire", "json", "config");
    mayUse("process", "json", "config", "wire");
    mayUse("rounds", "json", "config", "wire", "process");
    mayUse("bridge", "json", "config", "wire", "process", "rounds");
    mayUse("hadoop");
    mayUse("queues", "config", "hadoop");
    mayUse("state", "config", "wire", "hadoop", "queues");
    mayUse("metrics", "config", "rounds", "bridge");
    mayUse("commit", "config", "wire", "rounds", "hadoop", "queues", "state", "metrics");
    mayUse("status", "config", "bridge");
    mayUse("rehearsal", "json", "config", "bridge", "status");
    mayUse("web", "config", "rounds", "bridge", "status");
  }

  private static void mayUse(String user, String... used) {
    MAY_USE.put(user, names(used));
  }

  private static Set<String> names(String... names) {
    return new TreeSet<>(Arrays.asList(names));
  }

  @BeforeClass
  public static void read() {
    ours = new ClassFileImporter()
        .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
        .importPackages(ROOT);
    assertTrue("no classes found to check", ours.contain(LoomcardScheduler.class));
  }

  /** A new package needs a line above. */
  @Test
  public void everyPackageIsListed() {
    Set<String> found = new TreeSet<>();
    ours.forEach(type -> found.add(room(type)));
    found.remove("");
    assertEquals(MAY_USE.keySet(), found);
  }

  @Test
  public void packagesUseOnlyThoseListed() {
    MAY_USE.forEach((user, used) -> noClasses().that().resideInAPackage(ROOT + "." + user)
        .should().dependOnClassesThat(isOurs("in none of " + used + " and not in " + user,
            type -> !room(type).equals(user) && !used.contains(room(type)))).check(ours));
  }

  @Test
  public void packagesHaveNoCycles() {
    slices().matching(ROOT + ".(**)").should().beFreeOfCycles().check(ours);
  }

  /** Only one class uses Py4J, so another transport is one class. */
  @Test
  public void onlyTheClientKnowsPy4j() {
    noClasses().that().haveNameNotMatching(".*\\.Py4jPolicyClient(\\$.*)?")
        .should().dependOnClassesThat().resideInAPackage("py4j..")
        .check(ours);
  }

  /** The exception are the classes that keep the configuration where YARN keeps its own state. */
  @Test
  public void theWayToThePolicyKnowsNothingOfYarn() {
    for (String each : WITHOUT_YARN) {
      noClasses().that().resideInAPackage(ROOT + "." + each)
          .and().haveNameNotMatching(".*\\.(StateStores|ZooKeeperStateStore)(\\$.*)?")
          .should().dependOnClassesThat().resideInAPackage("org.apache.hadoop.yarn..")
          .check(ours);
    }
  }

  /** Pages and documents read values; they cannot reach the scheduler, its queues or the bridge. */
  @Test
  public void theWebReadsOnlyStatus() {
    noClasses().that().resideInAPackage(ROOT + ".web..")
        .should().dependOnClassesThat(isOurs("neither web, status nor a value of it",
            type -> !room(type).startsWith("web") && !room(type).equals("status")
                && !SHOWN.contains(type.getSimpleName()))).check(ours);
  }

  /** Every part gets what it needs, not the whole scheduler: the root package has no cycle. */
  @Test
  public void noPartKnowsTheWholeScheduler() {
    noClasses().that(areNone("LoomcardScheduler"))
        .should().dependOnClassesThat().haveSimpleName("LoomcardScheduler").check(ours);
  }

  /** Containers are allocated and room is reserved only after the checks of the commit. */
  @Test
  public void onlyTheCommitChangesAnAllocation() {
    onlyCommitCalls(LoomcardAttempt.class, "allocate");
    onlyCommitCalls(SchedulerNode.class, "allocateContainer");
    onlyCommitCalls(ClusterState.class, "containerAllocated");
    onlyCommitCalls(ClusterState.class, "containerGivenByFallback");
    onlyCommitCalls(ClusterState.class, "containerPromoted");
    onlyCommitCalls(Reservations.class, "put");
    onlyCommitCalls(Reservations.class, "unreserve");
    noClasses().that(areNone("PlanCommitter", "ContainerAllocation"))
        .should().dependOnClassesThat().haveSimpleName("ContainerAllocation").check(ours);
  }

  private static void onlyCommitCalls(Class<?> owner, String method) {
    noClasses().that().resideOutsideOfPackage(ROOT + ".commit")
        .should().callMethodWhere(named(owner, method)).check(ours);
  }

  /** No class is made to be extended except the scheduler, which tests subclass. */
  @Test
  public void classesAreFinal() {
    classes().that().areTopLevelClasses().and().areNotInterfaces().and().areNotEnums()
        .and().doNotHaveModifier(JavaModifier.ABSTRACT)
        .and().doNotHaveSimpleName("LoomcardScheduler").and().doNotHaveSimpleName("package-info")
        .should().haveModifier(JavaModifier.FINAL).check(ours);
  }

  /** Messages go to the ResourceManager's log. LinkCheck is a program of its own. */
  @Test
  public void nothingWritesToTheConsole() {
    noClasses().that(areNone("LinkCheck")).should().accessField(System.class, "out")
        .orShould().accessField(System.class, "err").check(ours);
  }

  /**
   * The wall clock may jump. It gives times for people, and the zero of the engine's clock. Waits
   * and comparisons use the monotonic clock.
   */
  @Test
  public void fewReadTheWallClock() {
    noClasses().that(areNone("ActivitiesDocument", "EngineClock", "NodeLifecycle",
        "PolicyConfigStore", "SwapExecution"))
        .should().callMethod(System.class, "currentTimeMillis")
        .orShould().callMethod(Time.class, "now").check(ours);
  }

  /** The name of our package below the root: empty for the root. */
  private static String room(JavaClass type) {
    String name = type.getPackageName();
    return name.equals(ROOT) ? "" : name.substring(ROOT.length() + 1);
  }

  private static DescribedPredicate<JavaClass> isOurs(String what,
      Predicate<JavaClass> test) {
    return DescribedPredicate.describe("are ours, " + what, type ->
        (type.getPackageName() + ".").startsWith(ROOT + ".") && test.test(type));
  }

  private static DescribedPredicate<JavaClass> areNone(String... names) {
    return DescribedPredicate.describe("are none of " + Arrays.toString(names),
        type -> !Arrays.asList(names).contains(type.getSimpleName()));
  }

  private static DescribedPredicate<JavaMethodCall> named(Class<?> owner, String method) {
    return DescribedPredicate.describe("calls " + owner.getSimpleName() + "." + method,
        call -> call.getTargetOwner().isAssignableTo(owner) && call.getName().equals(method)
            && !call.getOriginOwner().isAssignableTo(owner));
  }
}
