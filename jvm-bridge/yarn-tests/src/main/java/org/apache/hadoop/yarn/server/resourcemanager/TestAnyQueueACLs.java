package org.apache.hadoop.yarn.server.resourcemanager;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * YARN's tests of queue ACLs for a scheduler whose queues are those of a policy file: the file is
 * written anew for each tree, and {@code reinitialize} reads it. A scheduler without queues of its
 * own keeps those that it has.
 */
public class TestAnyQueueACLs extends QueueACLsTestBase {
  private static final String TWO = "  " + QUEUEA + ": {submit: [" + QUEUE_A_USER + ", "
      + COMMON_USER + "], administer: [" + QUEUE_A_ADMIN + "]}\n  " + QUEUEB + ": {submit: ["
      + QUEUE_B_USER + ", " + COMMON_USER + "], administer: [" + QUEUE_B_ADMIN + "]}\n";

  @Override
  protected Configuration createConfiguration() throws IOException {
    YarnConfiguration made = new YarnConfiguration();
    made.set(YarnConfiguration.RM_SCHEDULER, System.getProperty("scheduler.class"));
    made.setBoolean(YarnConfiguration.YARN_ACL_ENABLE, true);
    // A set-up that an earlier test applied stays in force in its folder.
    made.set("loomcard.state.dir", Files.createTempDirectory("loomcard-state").toString());
    write(made, "submit: []\nadminister: [" + ROOT_ADMIN + "]\nqueues:\n" + TWO);
    String setup = made.get("loomcard.queue-acls.setup");
    if (setup != null) {
      made.set("loomcard.setup.path", setup);
    }
    return made;
  }

  @Override
  public String getQueueD() {
    return QUEUED;
  }

  @Override
  public String getQueueD1() {
    return QUEUED1;
  }

  @Override
  public void updateConfigWithDAndD1Queues(String rootAcl, String queueDAcl, String queueD1Acl)
      throws IOException {
    write(getConf(), keys(rootAcl, "\n") + "queues:\n" + TWO + "  " + QUEUED + ":\n    "
        + keys(queueDAcl, "\n    ") + "queues:\n      " + QUEUED1 + ": {" + keys(queueD1Acl, ", ")
        + "weight: 1}\n");
    resourceManager.getResourceScheduler().reinitialize(getConf(), resourceManager.getRMContext());
  }

  private static String keys(String acl, String end) {
    if (acl == null) {
      return "";
    }
    String users = acl.trim().isEmpty() ? "[]" : "[\"" + acl + "\"]";
    return "submit: " + users + end + "administer: " + users + end;
  }

  private static void write(Configuration conf, String text) throws IOException {
    String file = conf.get("loomcard.policy.file");
    if (file != null) {
      Files.write(new File(file).toPath(),
          ("version: 1\nkind: policy\npolicy: fifo\n" + text).getBytes(StandardCharsets.UTF_8));
    }
  }
}
