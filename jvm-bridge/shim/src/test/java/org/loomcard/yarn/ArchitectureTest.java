package org.loomcard.yarn;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.junit.Assert.assertTrue;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.stream.Stream;
import org.apache.hadoop.util.Time;
import org.junit.BeforeClass;
import org.junit.Test;
import org.loomcard.yarn.state.ClusterState;
import org.loomcard.yarn.state.LoomcardAttempt;

/** Who may know and call whom on the Java side. */
public final class ArchitectureTest {
  private static final String ROOT = "org.loomcard.yarn";
  /** The way to the policy process: nothing here knows YARN. */
  private static final String[] BRIDGE = {
      ROOT + ".json..", ROOT + ".policyconfig..", ROOT + ".wire..", ROOT + ".process..",
      ROOT + ".rounds..", ROOT + ".swap..", ROOT + ".bridge..",
  };
  private static final String[] QUEUES = {ROOT + ".queues..", ROOT + ".amounts.."};
  private static final String[] STATE = {
      ROOT + ".state..", ROOT + ".facts..", ROOT + ".hadoop..",
  };
  private static final String[] WEB = {ROOT + ".web..", ROOT + ".status.."};
  private static JavaClasses ours;

  @BeforeClass
  public static void read() {
    ours = new ClassFileImporter()
        .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
        .importPackages(ROOT);
    assertTrue("no classes found to check", ours.contain(LoomcardScheduler.class));
  }

  /** Py4J stays behind PolicyClient, so that another transport is one class. */
  @Test
  public void onlyTheClientKnowsPy4j() {
    noClasses().that().haveNameNotMatching(".*\\.Py4jPolicyClient(\\$.*)?")
        .should().dependOnClassesThat().resideInAPackage("py4j..")
        .check(ours);
  }

  /** Arrows point one way: bridge knows nothing of ours, queues and web it alone, state both. */
  @Test
  public void packagesKnowOnlyThoseBelow() {
    noClasses().that().resideInAnyPackage(all(BRIDGE, QUEUES, STATE, WEB))
        .should().dependOnClassesThat().resideInAPackage(ROOT).check(ours);
    noClasses().that().resideInAnyPackage(BRIDGE)
        .should().dependOnClassesThat().resideInAnyPackage(all(QUEUES, STATE, WEB)).check(ours);
    noClasses().that().resideInAnyPackage(QUEUES)
        .should().dependOnClassesThat().resideInAnyPackage(all(STATE, WEB)).check(ours);
    noClasses().that().resideInAnyPackage(STATE)
        .should().dependOnClassesThat().resideInAnyPackage(WEB).check(ours);
    noClasses().that().resideInAnyPackage(WEB)
        .should().dependOnClassesThat().resideInAnyPackage(all(QUEUES, STATE)).check(ours);
  }

  /** The bridge knows the wire and its settings, and nothing of YARN. */
  @Test
  public void bridgeKnowsNothingOfYarn() {
    noClasses().that().resideInAnyPackage(BRIDGE)
        .should().dependOnClassesThat().resideInAPackage("org.apache.hadoop.yarn..")
        .check(ours);
  }

  /** No container is granted, and none told as granted, but by the class that checks decisions. */
  @Test
  public void onlyTheCommitterGrants() {
    noClasses().that().doNotHaveSimpleName("ContainerGrant")
        .should().callMethodWhere(named(LoomcardAttempt.class, "grant")).check(ours);
    noClasses().that(areNeither("PlanCommitter", "ContainerGrant"))
        .should().dependOnClassesThat().haveSimpleName("ContainerGrant").check(ours);
    noClasses().that(areNeither("PlanCommitter", "ClusterState"))
        .should().callMethodWhere(named(ClusterState.class, "containerGranted")).check(ours);
    noClasses().that(areNeither("PlanCommitter", "ClusterState"))
        .should().callMethodWhere(named(ClusterState.class,
        "containerGivenByFallback")).check(ours);
  }

  /** Nothing is made to be extended but the scheduler, which tests subclass. */
  @Test
  public void classesAreFinal() {
    classes().that().areTopLevelClasses().and().areNotInterfaces().and().areNotEnums()
        .and().doNotHaveModifier(JavaModifier.ABSTRACT)
        .and().doNotHaveSimpleName("LoomcardScheduler").and().doNotHaveSimpleName("package-info")
        .should().haveModifier(JavaModifier.FINAL).check(ours);
  }

  /** What the shim has to say goes to the ResourceManager's log. */
  @Test
  public void nothingWritesToTheConsole() {
    noClasses().should().accessField(System.class, "out")
        .orShould().accessField(System.class, "err").check(ours);
  }

  /**
   * The machine's clock may jump. It gives times to people, and the engine's clock its zero; what
   * is waited for and compared is measured by the clock that never jumps.
   */
  @Test
  public void fewReadTheWallClock() {
    noClasses().that(areNeither("EngineClock", "LoomcardScheduler"))
        .and(areNeither("PolicyConfigStore", "SwapCourse"))
        .should().callMethod(System.class, "currentTimeMillis")
        .orShould().callMethod(Time.class, "now").check(ours);
  }

  private static String[] all(String[]... groups) {
    return Stream.of(groups).flatMap(Stream::of).toArray(String[]::new);
  }

  private static DescribedPredicate<JavaClass> areNeither(String one, String other) {
    return DescribedPredicate.describe("are neither " + one + " nor " + other,
        type -> !type.getSimpleName().equals(one) && !type.getSimpleName().equals(other));
  }

  private static DescribedPredicate<JavaMethodCall> named(
      Class<?> owner, String method) {
    return DescribedPredicate.describe("calls " + owner.getSimpleName() + "." + method,
        call -> call.getTargetOwner().isEquivalentTo(owner) && call.getName().equals(method));
  }
}
