import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceBlacklistRequest;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.YarnApplicationAttemptState;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.client.api.YarnClientApplication;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.security.AMRMTokenIdentifier;

/**
 * Acts for unmanaged AMs, by commands on its standard input, one a line; each is answered by one
 * line. An AM asks, and heartbeats every 100 ms. Containers are never started.
 */
public final class Asker {
  private static final YarnConfiguration CONF = new YarnConfiguration();
  private static final Map<String, Master> MASTERS = new ConcurrentHashMap<>();

  /** One unmanaged AM. */
  private static final class Master extends Thread {
    private final ApplicationMasterProtocol rm;
    private final List<ResourceRequest> asks = new ArrayList<>();
    private final List<ContainerId> released = new ArrayList<>();
    private final Map<ContainerId, Integer> held = new TreeMap<>();
    private ResourceBlacklistRequest blacklist;
    private int response;
    private boolean over;

    private Master(ApplicationMasterProtocol rm) {
      this.rm = rm;
      setDaemon(true);
    }

    @Override
    public void run() {
      try {
        while (beat()) {
          Thread.sleep(100);
        }
      } catch (Exception e) {
        e.printStackTrace();
      }
    }

    private synchronized boolean beat() throws Exception {
      if (over) {
        return false;
      }
      AllocateRequest request = AllocateRequest.newInstance(response, 0, new ArrayList<>(asks),
          new ArrayList<>(released), blacklist);
      asks.clear();
      released.clear();
      blacklist = null;
      AllocateResponse answer = rm.allocate(request);
      response = answer.getResponseId();
      for (Container each : answer.getAllocatedContainers()) {
        held.put(each.getId(), each.getPriority().getPriority());
      }
      answer.getCompletedContainersStatuses().forEach(each -> held.remove(each.getContainerId()));
      return true;
    }
  }

  public static void main(String[] arguments) throws Exception {
    YarnClient client = YarnClient.createYarnClient();
    client.init(CONF);
    client.start();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String answer;
      try {
        answer = answer(client, line.split(" "));
      } catch (Exception e) {
        Throwable cause = e;
        while (cause.getMessage() == null && cause.getCause() != null) {
          cause = cause.getCause(); // another user's calls wrap what they throw
        }
        answer = "error " + String.valueOf(cause.getMessage()).split("\n")[0];
      }
      System.out.println(answer);
      System.out.flush();
    }
    System.exit(0);
  }

  private static String answer(YarnClient client, String[] words) throws Exception {
    switch (words[0]) {
      case "submit":
        return submit(words[1], words[2], words.length > 3 ? words[3] : null,
            words.length > 4 ? words[4] : "");
      case "master":
        return submitMaster(client, words[1], words[2], Integer.parseInt(words[3]));
      case "ask":
        return ask(MASTERS.get(words[1]), words);
      case "ban":
      case "unban":
        Master banning = MASTERS.get(words[1]);
        synchronized (banning) {
          List<String> names = Arrays.asList(words[2]);
          List<String> none = new ArrayList<>();
          banning.blacklist = words[0].equals("ban")
              ? ResourceBlacklistRequest.newInstance(names, none)
              : ResourceBlacklistRequest.newInstance(none, names);
        }
        return "ok";
      case "held":
        Master holder = MASTERS.get(words[1]);
        synchronized (holder) {
          return "held " + holder.held.size();
        }
      case "release":
        Master releasing = MASTERS.get(words[1]);
        synchronized (releasing) {
          ContainerId some = null;
          for (Map.Entry<ContainerId, Integer> each : releasing.held.entrySet()) {
            if (words.length < 3 || each.getValue() == Integer.parseInt(words[2])) {
              some = each.getKey();
            }
          }
          if (some == null) {
            throw new IllegalStateException("it holds no such container");
          }
          releasing.held.remove(some);
          releasing.released.add(some);
        }
        return "ok";
      case "reset":
        for (Master each : MASTERS.values()) {
          synchronized (each) {
            each.over = true;
            each.rm.finishApplicationMaster(FinishApplicationMasterRequest.newInstance(
                FinalApplicationStatus.SUCCEEDED, "", ""));
          }
        }
        MASTERS.clear();
        return "ok";
      case "end":
        Master ending = MASTERS.remove(words[1]);
        synchronized (ending) {
          ending.over = true;
          ending.rm.finishApplicationMaster(FinishApplicationMasterRequest.newInstance(
              FinalApplicationStatus.SUCCEEDED, "", ""));
        }
        return "ok";
      default:
        throw new IllegalArgumentException("unknown command " + words[0]);
    }
  }

  /** submit QUEUE USER [TYPE [TAG,...]]. */
  private static String submit(String queue, String user, String type, String tags)
      throws Exception {
    UserGroupInformation submitter = UserGroupInformation.createRemoteUser(user);
    return submitter.doAs((PrivilegedExceptionAction<String>) () -> {
      YarnClient own = YarnClient.createYarnClient();
      own.init(CONF);
      own.start();
      YarnClientApplication fresh = own.createApplication();
      ApplicationSubmissionContext context = fresh.getApplicationSubmissionContext();
      ApplicationId id = context.getApplicationId();
      context.setApplicationName(id.toString());
      context.setQueue(queue);
      context.setApplicationType(type);
      if (!tags.isEmpty()) {
        context.setApplicationTags(new HashSet<>(Arrays.asList(tags.split(","))));
      }
      context.setUnmanagedAM(true);
      context.setMaxAppAttempts(1);
      context.setAMContainerSpec(ContainerLaunchContext.newInstance(null, null, null, null, null,
          null));
      context.setResource(Resource.newInstance(128, 1));
      own.submitApplication(context);
      long end = System.currentTimeMillis() + 60_000;
      while (own.getApplicationReport(id).getCurrentApplicationAttemptId().getAttemptId() < 1
          || own.getApplicationAttemptReport(
              own.getApplicationReport(id).getCurrentApplicationAttemptId())
              .getYarnApplicationAttemptState() != YarnApplicationAttemptState.LAUNCHED) {
        if (System.currentTimeMillis() > end) {
          throw new IllegalStateException(id + " is not launched");
        }
        Thread.sleep(50);
      }
      org.apache.hadoop.security.token.Token<AMRMTokenIdentifier> token = own.getAMRMToken(id);
      UserGroupInformation master = UserGroupInformation.createRemoteUser(id.toString());
      token.setService(new Text(ClientRMProxy.getAMRMTokenService(CONF).toString()));
      master.addToken(token);
      ApplicationMasterProtocol rm = master.doAs(
          (PrivilegedExceptionAction<ApplicationMasterProtocol>) () ->
              ClientRMProxy.createRMProxy(CONF, ApplicationMasterProtocol.class));
      rm.registerApplicationMaster(RegisterApplicationMasterRequest.newInstance("h", 0, ""));
      Master running = new Master(rm);
      MASTERS.put(id.toString(), running);
      running.start();
      own.stop();
      return id.toString();
    });
  }

  /** Submits an application whose AM is a process that sleeps; it never registers. */
  private static String submitMaster(YarnClient client, String queue, String user, int memory)
      throws Exception {
    UserGroupInformation submitter = UserGroupInformation.createRemoteUser(user);
    return submitter.doAs((PrivilegedExceptionAction<String>) () -> {
      YarnClient own = YarnClient.createYarnClient();
      own.init(CONF);
      own.start();
      YarnClientApplication fresh = own.createApplication();
      ApplicationSubmissionContext context = fresh.getApplicationSubmissionContext();
      context.setApplicationName("master");
      context.setQueue(queue);
      context.setMaxAppAttempts(1);
      context.setAMContainerSpec(ContainerLaunchContext.newInstance(null, null,
          Arrays.asList("sleep 600"), null, null, null));
      context.setResource(Resource.newInstance(memory, 1));
      own.submitApplication(context);
      own.stop();
      return context.getApplicationId().toString();
    });
  }

  /** ask APP PRIORITY MB VCORES COUNT [host=NAME,...] [strict] [label=NAME]. */
  private static String ask(Master master, String[] words) throws Exception {
    Priority priority = Priority.newInstance(Integer.parseInt(words[2]));
    Resource size = Resource.newInstance(Integer.parseInt(words[3]), Integer.parseInt(words[4]));
    int count = Integer.parseInt(words[5]);
    boolean strict = Arrays.asList(words).contains("strict");
    List<ResourceRequest> rows = new ArrayList<>();
    ResourceRequest any = ResourceRequest.newInstance(priority, ResourceRequest.ANY, size, count,
        !strict);
    for (String word : words) {
      if (word.startsWith("label=")) {
        any.setNodeLabelExpression(word.substring(6));
      } else if (word.startsWith("host=")) {
        for (String place : word.substring(5).split(",")) {
          String[] parts = place.split("@");
          rows.add(ResourceRequest.newInstance(priority, parts[0], size, count, true));
          rows.add(ResourceRequest.newInstance(priority, parts[1], size, count, !strict));
        }
      }
    }
    rows.add(any);
    synchronized (master) {
      master.asks.addAll(rows);
      master.beat();
    }
    return "ok";
  }
}
