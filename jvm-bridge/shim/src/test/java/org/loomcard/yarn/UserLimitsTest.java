package org.loomcard.yarn;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.commons.lang3.StringUtils;
import org.apache.commons.lang3.reflect.FieldUtils;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceBlacklistRequest;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.junit.Test;

/**
 * Sizes, names and blacklists are bounded for an attempt, and for all live attempts of a user
 * together. What exceeds a bound is refused in the AM and the application's diagnostics, and
 * nothing of it is taken. What is taken back makes room.
 */
public class UserLimitsTest extends SchedulerTestBase {
  private final RMApp[] apps = new RMApp[3];
  private final MockAM[] ams = new MockAM[3];

  @Override
  protected void more(YarnConfiguration settings) {
    settings.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 128);
    settings.setInt("loomcard.attempt.max-ask-sizes", 3);
    settings.setInt("loomcard.user.max-ask-sizes", 4);
    settings.setInt("loomcard.attempt.max-blacklist", 3);
    settings.setInt("loomcard.user.max-blacklist", 4);
    settings.setInt("loomcard.attempt.max-key-rows", 15);
    settings.setInt("loomcard.user.max-ask-rows", 20);
  }

  /** Two AMs of one user, one of another user. */
  private void start() throws Exception {
    startRm();
    MockNM nm = node("h1", 8192, 8);
    for (int i = 0; i < 3; i++) {
      apps[i] = submit(application().withUser(i < 2 ? "alice" : "bob"));
      ams[i] = launchAm(apps[i], nm);
    }
    read();
  }

  private static ResourceRequest row(String place, int id, int memoryMb, int count) {
    ResourceRequest row = ResourceRequest.newInstance(Priority.newInstance(5), place,
        Resource.newInstance(memoryMb, 1), count);
    row.setAllocationRequestId(id);
    return row;
  }

  /** Rows that each have another size, from {@code first} on, in steps of 128 MB. */
  private static List<ResourceRequest> sizes(int first, int end, int count) {
    List<ResourceRequest> rows = new ArrayList<>();
    for (int size = first; size < end; size++) {
      rows.add(row("*", size, 128 * size, count));
    }
    return rows;
  }

  private static List<ResourceRequest> places(int id, int count, String... names) {
    List<ResourceRequest> rows = new ArrayList<>();
    for (String name : names) {
      rows.add(row(name, id, 1024, count));
    }
    return rows;
  }

  private static String[] hosts(int count) {
    String[] names = new String[count];
    Arrays.setAll(names, i -> "n" + i);
    return names;
  }

  private void call(int am, List<ResourceRequest> rows, List<String> bad, List<String> good)
      throws Exception {
    ams[am].allocate(AllocateRequest.newInstance(0, 0, rows, new ArrayList<>(),
        ResourceBlacklistRequest.newInstance(bad, good)));
    rm.drainEvents();
  }

  private void takes(int am, List<ResourceRequest> rows) throws Exception {
    call(am, rows, Collections.emptyList(), Collections.emptyList());
    read();
  }

  private void refuses(int am, List<ResourceRequest> rows, List<String> bad, String setting)
      throws Exception {
    try {
      call(am, rows, bad, Collections.emptyList());
      fail("taken against " + setting);
    } catch (YarnException e) {
      assertTrue(e.getMessage(), e.getMessage().contains("(" + setting + ")"));
    }
    String said = apps[am].getDiagnostics().toString();
    assertTrue(said, said.contains(setting));
    rm.drainEvents();
    assertTrue("nothing was taken", read().tags().isEmpty());
  }

  @Test
  public void sizes() throws Exception {
    start();
    List<String> none = Collections.emptyList();
    refuses(0, sizes(1, 5, 1), none, "loomcard.attempt.max-ask-sizes");
    takes(0, sizes(1, 4, 1));
    refuses(1, sizes(4, 6, 1), none, "loomcard.user.max-ask-sizes");
    takes(2, sizes(4, 6, 1));
    takes(1, sizes(1, 5, 1).subList(1, 4));
    takes(0, sizes(1, 4, 0));
    takes(1, sizes(2, 5, 0));
    takes(1, sizes(10, 13, 1));
  }

  @Test
  public void rows() throws Exception {
    start();
    List<String> none = Collections.emptyList();
    takes(0, places(1, 1, hosts(12)));
    refuses(1, places(1, 1, hosts(12)), none, "loomcard.user.max-ask-rows");
    takes(2, places(1, 1, hosts(12)));
    takes(0, places(1, 0, hosts(12)));
    takes(1, places(1, 1, hosts(12)));
    takes(1, places(1, 2, hosts(12)));
  }

  /** The cost of a name is the length of its text. */
  @Test
  public void longNamesCountMore() throws Exception {
    start();
    List<String> none = Collections.emptyList();
    refuses(0, places(1, 1, StringUtils.repeat("n", 1000)), none, "loomcard.attempt.max-key-rows");
    takes(0, places(1, 1, StringUtils.repeat("n", 64)));
    refuses(0, none(), Collections.singletonList(StringUtils.repeat("n", 200)),
        "loomcard.attempt.max-blacklist");
  }

  private static List<ResourceRequest> none() {
    return new ArrayList<>();
  }

  @Test
  public void blacklists() throws Exception {
    start();
    refuses(0, none(), Arrays.asList("a", "b", "c", "d"), "loomcard.attempt.max-blacklist");
    call(0, none(), Arrays.asList("a", "b", "c"), Collections.emptyList());
    assertEquals(3, read().one("blacklist").get(3).size());
    refuses(1, none(), Arrays.asList("a", "b"), "loomcard.user.max-blacklist");
    call(2, none(), Arrays.asList("a", "b"), Collections.emptyList());
    call(0, none(), Collections.singletonList("d"), Collections.singletonList("a"));
    call(0, none(), Collections.emptyList(), Arrays.asList("b", "c"));
    read();
    call(1, none(), Arrays.asList("a", "b"), Collections.emptyList());
    assertEquals(2, read().one("blacklist").get(3).size());
  }

  /** Nothing is kept for a user without a live attempt. */
  @Test
  public void usersAreForgotten() throws Exception {
    start();
    call(0, sizes(1, 3, 1), Arrays.asList("a", "b"), Collections.emptyList());
    Map<?, ?> users = (Map<?, ?>) FieldUtils.readField(scheduler.cluster(), "users", true);
    assertEquals(2, users.size());
    for (int i = 0; i < 2; i++) {
      rm.killApp(apps[i].getApplicationId());
      rm.waitForState(apps[i].getApplicationId(), RMAppState.KILLED);
    }
    until("alice is forgotten", () -> users.keySet().equals(Collections.singleton("bob")));
  }
}
