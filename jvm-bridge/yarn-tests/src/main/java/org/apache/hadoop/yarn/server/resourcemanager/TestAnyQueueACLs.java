package org.apache.hadoop.yarn.server.resourcemanager;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ha.HAServiceProtocol.HAServiceState;
import org.apache.hadoop.test.GenericTestUtils;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * YARN's tests of queue ACLs for a scheduler whose queues come from a policy file: the file is
 * rewritten for each tree, and {@code reinitialize} reads it. A scheduler that does not read such a
 * file keeps its queues.
 *
 * <p>Under Capacity a right on a queue is a right on those below it. A list of Loomcard's replaces
 * that of the queue above, so each list here also names those of the queues above.
 */
public class TestAnyQueueACLs extends QueueACLsTestBase {
  private static final String TWO = two(QUEUEA, QUEUE_A_USER, QUEUE_A_ADMIN)
      + two(QUEUEB, QUEUE_B_USER, QUEUE_B_ADMIN);

  @Override
  protected Configuration createConfiguration() throws IOException {
    YarnConfiguration made = new YarnConfiguration();
    made.set(YarnConfiguration.RM_SCHEDULER, System.getProperty("scheduler.class"));
    made.setBoolean(YarnConfiguration.YARN_ACL_ENABLE, true);
    // A policy configuration that an earlier test applied stays in force in its folder.
    made.set("loomcard.state.dir", Files.createTempDirectory("loomcard-state").toString());
    write(made, "submit: []\nadminister: [" + ROOT_ADMIN + "]\nqueues:\n" + TWO);
    String configuration = made.get("loomcard.queue-acls.setup");
    if (configuration != null) {
      made.set("loomcard.setup.path", configuration);
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
    String dAcl = either(rootAcl, queueDAcl);
    write(getConf(), keys(rootAcl, "\n") + "queues:\n" + TWO + "  " + QUEUED + ":\n    "
        + keys(dAcl, "\n    ") + "queues:\n      " + QUEUED1 + ": {"
        + keys(either(dAcl, queueD1Acl), ", ") + "weight: 1}\n");
    awaitActive();
    resourceManager.getResourceScheduler().reinitialize(getConf(), resourceManager.getRMContext());
  }

  /**
   * YARN's preparation of these tests continues as soon as the start of the ResourceManager has
   * begun, and no administrator can refresh queues before it is active.
   */
  private void awaitActive() throws IOException {
    try {
      GenericTestUtils.waitFor(() -> resourceManager.getRMContext().getHAServiceState()
          == HAServiceState.ACTIVE, 20, 30_000);
    } catch (TimeoutException | InterruptedException e) {
      throw new IOException("the ResourceManager is not active", e);
    }
  }

  private static String two(String queue, String user, String admin) {
    return "  " + queue + ": {submit: [" + user + ", " + COMMON_USER + "], administer: [" + admin
        + ", " + ROOT_ADMIN + "]}\n";
  }

  /** Returns everyone if the queue or the one above admits everyone. */
  private static String either(String above, String own) {
    return "*".equals(above) ? above : own;
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
