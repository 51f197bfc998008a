package org.loomcard.yarn.process;

import java.io.File;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.MessageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One policy process: a child that ends when its standard input does, so that it never outlives
 * this JVM.
 */
public final class PolicyProcess implements RunningPolicy {
  private static final Logger LOG = LoggerFactory.getLogger(PolicyProcess.class);
  private static final long KILL_WAIT_S = 5;
  /** The process itself waits two seconds for its journal. */
  private static final long END_WAIT_S = 3;
  /** How long to wait for its end: its connection closes a moment earlier. */
  private static final long ENDING_MS = 200;
  /** The folder for the secret while the state folder takes no files. */
  private static final File SPARE = new File(System.getProperty("java.io.tmpdir"));
  /** Read by loomcard.bridge.limits in the child. */
  private static final String MAX_MEMORY = "LOOMCARD_PROCESS_MAX_MEMORY_MB";
  private final Process process;
  private final PrivateFolder folder;
  private final long maxReplyBytes;
  private volatile Py4jPolicyClient client;
  private volatile String name = "not ready";
  /** The process's number, and that of its group; null until it is ready. */
  private volatile String pid;

  PolicyProcess(Process process, PrivateFolder folder, long maxReplyBytes, Runnable onEnd) {
    this.process = process;
    this.folder = folder;
    this.maxReplyBytes = maxReplyBytes;
    Thread reader = new Thread(new ChildLog(process.getInputStream(), onEnd),
        "loomcard-policy-log");
    reader.setDaemon(true);
    reader.start();
  }

  /** Waits for the port in the ready file; it does not connect yet. */
  void awaitReady(long deadlineMs) throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(deadlineMs);
    String ready = folder.readReady();
    while (ready == null) {
      if (process.waitFor(10, TimeUnit.MILLISECONDS)) {
        throw new IOException("the policy process ended with status " + process.exitValue()
            + " before it was ready; its log lines say why");
      }
      if (System.nanoTime() > end) {
        throw new IOException("the policy process was not ready within " + deadlineMs + " ms ("
            + BridgeConfig.START_DEADLINE_MS + ")");
      }
      ready = folder.readReady();
    }
    readPort(ready);
  }

  private void readPort(String ready) throws IOException {
    int port = 0;
    try {
      JsonCursor in = new JsonCursor(ready);
      in.openObject("ready file");
      for (String key = in.key(); key != null; key = in.key()) {
        if (key.equals("port")) {
          port = in.integer("ready file: port");
        } else {
          pid = in.raw();
          name = key + " " + pid;
        }
      }
    } catch (MessageException e) {
      throw new IOException(e.getMessage(), e);
    }
    client = new Py4jPolicyClient(port, folder.secret(), maxReplyBytes);
  }

  @Override
  public PolicyClient client() {
    return client;
  }

  @Override
  public void end() {
    try {
      process.getOutputStream().close(); // it ends with its input
      process.waitFor(END_WAIT_S, TimeUnit.SECONDS);
    } catch (IOException e) {
      LOG.debug("The input of the policy process {} was closed already", describe(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    kill();
  }

  @Override
  public void kill() {
    if (pid != null) {
      OrphanProcesses.kill("-" + pid); // with what its policies started
    }
    process.destroyForcibly();
    if (client != null) {
      client.close();
    }
    try {
      if (!process.waitFor(KILL_WAIT_S, TimeUnit.SECONDS)) {
        LOG.error("The policy process {} does not stop", describe());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    folder.delete();
  }

  @Override
  public String howItEnded() {
    try {
      return process.waitFor(ENDING_MS, TimeUnit.MILLISECONDS)
          ? "it ended with status " + process.exitValue() + ", see the lines before in the log of "
              + "the ResourceManager"
          : null;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
  }

  @Override
  public String describe() {
    return name;
  }

  /** Starts policy processes with the interpreter of the settings. */
  public static final class Launcher implements RunningPolicy.Launcher {
    private final BridgeConfig config;
    private final String[] program;
    private final AtomicBoolean alone = new AtomicBoolean();

    /** @param program what follows the interpreter, before the two files' options */
    public Launcher(BridgeConfig config, String... program) {
      this.config = config;
      this.program = program.clone();
    }

    @Override
    public RunningPolicy launch(Runnable onEnd) throws IOException, InterruptedException {
      if (alone.compareAndSet(false, true)) {
        OrphanProcesses.end(config.stateDir);
        OrphanProcesses.end(SPARE);
      }
      PrivateFolder folder = PrivateFolder.in(config.stateDir, SPARE);
      Process process = null;
      PolicyProcess started = null;
      try {
        process = builder(folder).start();
        started = new PolicyProcess(process, folder, config.processMaxReplyMb << 20, onEnd);
        started.awaitReady(config.startDeadlineMs);
        return started;
      } catch (IOException | InterruptedException | RuntimeException | Error e) {
        if (started != null) {
          started.kill();
        } else if (process != null) { // no memory for the thread that reads its log
          process.destroyForcibly();
        }
        folder.delete();
        throw e;
      }
    }

    private ProcessBuilder builder(PrivateFolder folder) {
      ProcessBuilder builder = new ProcessBuilder();
      builder.command().add(config.python);
      for (String part : program) {
        builder.command().add(part);
      }
      builder.command().add("--ready-file");
      builder.command().add(folder.ready().getPath());
      builder.command().add("--secret-file");
      builder.command().add(folder.secretFile().getPath());
      // Equal batches must give equal plans in every process: sets of strings must iterate in the
      // same order.
      builder.environment().put("PYTHONHASHSEED", "0");
      builder.environment().put("PYTHONUNBUFFERED", "1");
      builder.environment().put(MAX_MEMORY, String.valueOf(config.processMaxMemoryMb));
      builder.directory(new File(config.stateDir.getPath()));
      builder.redirectErrorStream(true);
      return builder;
    }
  }
}
