package org.loomcard.yarn.player;

import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.ShutdownHookManager;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.loomcard.yarn.player.context.Amounts;
import org.loomcard.yarn.player.context.Command;
import org.loomcard.yarn.player.context.HeldContainers;
import org.loomcard.yarn.player.context.ModelProcess;
import org.loomcard.yarn.player.context.PlayerContext;
import org.loomcard.yarn.player.context.PlayerLog;
import org.loomcard.yarn.player.context.Scenario;

/**
 * Plays a scenario on a real YARN: submits each application at its time and is the application
 * master of all of them, in one process. The configuration on the class path says which cluster.
 *
 * <p>It ends when every application has ended, with exit status 0 whatever their final states,
 * which are in the log. It ends early when standard input ends (status 3) or when the models are
 * lost (status 4); what still runs is killed.
 */
public final class WorkloadPlayer {
  private static final long LEAD_MS = 200;
  private static final int STARTERS = 8;
  /** How long the models may take to answer: longer than a busy machine delays them. */
  private static final long PATIENCE_MS = 60_000;
  private static final int HOOK_PRIORITY = 50;
  private static final String POLL = "yarn.client.application-client-protocol.poll-interval-ms";
  private static final String NODE_WAIT = "yarn.client.nodemanager-connect.max-wait-ms";
  private static final String NODE_RETRY = "yarn.client.nodemanager-connect.retry-interval-ms";

  private final Scenario.Input input;
  private final Configuration conf = new YarnConfiguration();
  private final PlayerLog log;
  private final HeldContainers held;
  private final PlayerContext context;
  private final Submissions submissions;
  private final ExecutorService threads =
      Executors.newCachedThreadPool(PlayerContext::daemon);
  private final ExecutorService starters =
      Executors.newFixedThreadPool(STARTERS, PlayerContext::daemon);
  private final List<ApplicationRun> running = Collections.synchronizedList(new ArrayList<>());

  private WorkloadPlayer(Options options) throws IOException {
    input = Scenario.read(options.input());
    log = new PlayerLog(options.log());
    held = new HeldContainers(InetAddress.getByName(options.address()));
    Command command = new Command(options.address(), held.port());
    Amounts amounts = new Amounts(input.scenario.resourceTypes);
    ModelProcess models = new ModelProcess(Arrays.asList(options.python().getPath(), "-P", "-m",
        "loomcard.player.model_process", options.input().getPath()), PATIENCE_MS,
        WorkloadPlayer::giveUp);
    context = new PlayerContext(amounts, log, command, held, models,
        input.scenario.amHeartbeatMs);
    conf.setIfUnset(POLL, "10");
    // A node that does not answer is gone; YARN's clients would wait three minutes for it.
    conf.setLong(NODE_WAIT, 2_000);
    conf.setLong(NODE_RETRY, 200);
    submissions = new Submissions(conf, amounts, command);
  }

  /** Plays; exits 2 for bad arguments, 1 if the scenario or the cluster cannot be reached. */
  public static void main(String[] args) throws Exception {
    Options options;
    try {
      options = Options.parse(args);
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.exit(2);
      return;
    }
    WorkloadPlayer player = new WorkloadPlayer(options);
    ShutdownHookManager.get().addShutdownHook(player::kill, HOOK_PRIORITY);
    PlayerContext.daemon(WorkloadPlayer::obey).start();
    player.play();
    System.exit(0);
  }

  /** Ends with the process at the other end of standard input. */
  private static void obey() {
    try {
      while (System.in.read() >= 0) {
        continue;
      }
    } catch (IOException expected) {
      // Counts as the end of the input.
    }
    System.exit(3);
  }

  private void play() throws Exception {
    List<Scenario.Application> applications = new ArrayList<>(input.scenario.applications);
    applications.sort(Comparator.comparingLong(application -> application.submitMs));
    warmUp(applications);
    CountDownLatch ended = new CountDownLatch(applications.size());
    long zero = System.currentTimeMillis() + LEAD_MS;
    log.write(PlayerLog.line("zero").put("zero_ms", zero));
    for (Scenario.Application application : applications) {
      waitUntil(zero + application.submitMs);
      ApplicationRun run = run(application);
      running.add(run);
      threads.execute(() -> {
        run.play();
        running.remove(run);
        ended.countDown();
      });
    }
    ended.await();
    log.write(PlayerLog.line("done"));
  }

  /**
   * Calls the ResourceManager once as every user, and plays an application of one container that
   * ends at once. So classes are loaded on every side before the run's zero.
   */
  private void warmUp(List<Scenario.Application> applications) throws Exception {
    for (Scenario.Application application : applications) {
      submissions.client(application.user);
    }
    if (input.warmUp != null) {
      run(input.warmUp).play();
    }
  }

  private ApplicationRun run(Scenario.Application application) {
    return new ApplicationRun(application,
        input.hints.getOrDefault(application.id, Collections.emptyMap()), context, submissions,
        conf, starters, input.scenario.amStartMs);
  }

  private static void waitUntil(long timeMs) throws InterruptedException {
    long left = timeMs - System.currentTimeMillis();
    if (left > 0) {
      Thread.sleep(left);
    }
  }

  /** Without the models no application can continue: the hook kills those that run. */
  private static void giveUp(String why) {
    System.err.println("player: " + why);
    PlayerContext.daemon(() -> System.exit(4)).start();
  }

  private void kill() {
    for (ApplicationRun run : new ArrayList<>(running)) {
      run.kill();
    }
    context.models().close();
  }
}
