package org.loomcard.yarn.config;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import org.apache.hadoop.conf.Configuration;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.loomcard.yarn.bridge.Until;
import org.loomcard.yarn.wire.Golden;

/**
 * The versions that are kept, on one machine and for a pair, and the state after a failed write.
 */
public class AppliedHistoryTest {
  @Rule
  public final TemporaryFolder folder = new TemporaryFolder();
  private final Configuration conf = new Configuration(false);

  /** Texts in memory that a pair shares, and that can fail or hang. */
  private static final class SharedTexts implements StateStore {
    private final Map<String, String> texts = new ConcurrentSkipListMap<>();
    private volatile CountDownLatch hangs = new CountDownLatch(0);
    private volatile String failing = "";

    @Override
    public String read(String name) {
      return texts.get(name);
    }

    @Override
    public void write(String name, String text) throws IOException {
      try {
        hangs.await();
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
      if (name.equals(failing)) {
        throw new IOException("no space left");
      }
      texts.put(name, text);
    }

    @Override
    public void delete(String name) {
      texts.remove(name);
    }

    @Override
    public List<String> names() {
      return new ArrayList<>(texts.keySet());
    }

    @Override
    public boolean isShared() {
      return true;
    }

    @Override
    public void close() {
    }

    @Override
    public String place(String name) {
      return "memory " + name;
    }
  }

  @Before
  public void configure() throws Exception {
    conf.set(BridgeConfig.STATE_DIR, file("state").getPath());
    conf.set(BridgeConfig.SETUP_PATH, file("setup.json").getPath());
    conf.set(BridgeConfig.POLICY_FILE, file("policy.yml").getPath());
    LocalStateStore.write(file("setup.json").toPath(), Golden.policyConfig().json);
  }

  private PolicyConfigStore store() {
    return new PolicyConfigStore(new BridgeConfig(conf));
  }

  private PolicyConfigStore store(StateStore store) {
    return new PolicyConfigStore(new BridgeConfig(conf), store);
  }

  private static AppliedConfig version(int version) throws Exception {
    return new AppliedConfig(Golden.policyConfig(), version, "# " + version + "\n", "alice",
        version);
  }

  private static List<Integer> versions(PolicyConfigStore store) {
    List<Integer> versions = new ArrayList<>();
    store.history().forEach(each -> versions.add(each.version));
    return versions;
  }

  /** The last ten are kept, with user and time, also over a restart. */
  @Test
  public void theLastTenAreKept() throws Exception {
    LocalStateStore.write(file("policy.yml").toPath(), "# 1\n");
    PolicyConfigStore store = store();
    store.load();
    for (int i = 2; i <= 13; i++) {
      store.apply(version(i));
    }
    assertEquals("[13, 12, 11, 10, 9, 8, 7, 6, 5, 4]", versions(store).toString());
    PolicyConfigStore next = store();
    assertEquals(13, next.load().version);
    assertEquals(versions(store), versions(next));
    AppliedConfig oldest = next.history().get(9);
    assertEquals("# 4\n", oldest.yaml);
    assertEquals("alice", oldest.user);
    assertEquals(4, oldest.atMs);
    assertEquals("nine past ones and the governing one", 10, file("state").list().length);
  }

  /** The texts of policy files are kept for the last ten versions only. */
  @Test
  public void theTextsOfThePoliciesOfTheLastTenAreKept() throws Exception {
    PolicyConfigStore store = store();
    store.load();
    File copies = file("state/applied-policies");
    for (int i = 2; i <= 13; i++) {
      String digest = String.format("%064x", i);
      String json = Golden.policyConfig().json;
      AppliedConfig next = new AppliedConfig(PolicyConfig.read("{\"files\":{\"own.py:Own\":\""
          + digest
          + "\"}," + json.substring(1)), i, "# " + i + "\n");
      LocalStateStore.write(new File(copies, digest + ".py").toPath(), "# " + i);
      store.apply(next);
    }
    LocalStateStore.write(new File(copies, String.format("%064x.draft", 99)).toPath(),
        "# a swap died");
    LocalStateStore.write(new File(copies, "notes.txt").toPath(), "somebody's own");
    store.apply(version(14));
    List<String> left = new ArrayList<>(Arrays.asList(copies.list()));
    assertTrue("not ours to delete", left.remove("notes.txt"));
    Collections.sort(left);
    assertEquals("those of versions 5 to 13", 9, left.size());
    assertEquals(String.format("%064x.py", 5), left.get(0));
  }

  /** A damaged past version is left out; the present one counts. */
  @Test
  public void aDamagedPastVersionIsLeftOut() throws Exception {
    PolicyConfigStore store = store();
    store.load();
    store.apply(version(2));
    store.apply(version(3));
    LocalStateStore.write(file("state/applied-2.json").toPath(), "{\"ver");
    PolicyConfigStore next = store();
    next.load();
    assertEquals("[3, 1]", versions(next).toString());
  }

  /**
   * Both ResourceManagers of a pair start with the same version, whatever the second one's own file
   * says.
   */
  @Test
  public void aPairStartsWithTheSame() throws Exception {
    SharedTexts shared = new SharedTexts();
    LocalStateStore.write(file("policy.yml").toPath(), "# first\n");
    store(shared).load();
    LocalStateStore.write(file("setup.json").toPath(), "something else");
    assertEquals("# first\n", store(shared).load().yaml);
  }

  /** A file with a replaced version is updated; a file that was edited is left alone. */
  @Test
  public void theFileOfTheOtherFollows() throws Exception {
    SharedTexts shared = new SharedTexts();
    LocalStateStore.write(file("policy.yml").toPath(), "# 1\n");
    PolicyConfigStore active = store(shared);
    active.load();
    active.apply(version(2));
    LocalStateStore.write(file("policy.yml").toPath(), "# 1\n");
    store(shared).load();
    assertEquals("# 2\n", LocalStateStore.read(file("policy.yml").toPath()));
    LocalStateStore.write(file("policy.yml").toPath(), "# mine\n");
    store(shared).load();
    assertEquals("# mine\n", LocalStateStore.read(file("policy.yml").toPath()));
  }

  /** Versions that were kept on this machine move to the pair's store, once. */
  @Test
  public void localStateMoves() throws Exception {
    PolicyConfigStore local = store();
    local.load();
    local.apply(version(7));
    Map<String, String> parts = new TreeMap<>();
    parts.put("root.a:dress", "{\"delta\":0.25}");
    local.keepSaved(parts);
    SharedTexts shared = new SharedTexts();
    PolicyConfigStore store = store(shared);
    assertEquals(7, store.load().version);
    assertEquals(parts, store.loadSaved());
    assertTrue(shared.names().contains("applied.json"));
  }

  /** A write that fails at any step changes neither the present version nor the policy file. */
  @Test
  public void aFailedWriteChangesNothing() throws Exception {
    for (String step : new String[] {"applied-1.json", "applied.json"}) {
      SharedTexts shared = new SharedTexts();
      LocalStateStore.write(file("policy.yml").toPath(), "# 1\n");
      PolicyConfigStore store = store(shared);
      store.load();
      shared.failing = step;
      refused(store, "no space left");
      shared.failing = "";
      assertEquals(1, store(shared).load().version);
      assertEquals("[1]", versions(store).toString());
      assertEquals("# 1\n", LocalStateStore.read(file("policy.yml").toPath()));
    }
  }

  /** If the file cannot be written, the applied version is taken back. */
  @Test
  public void anUnwritableFileTakesItBack() throws Exception {
    SharedTexts shared = new SharedTexts();
    PolicyConfigStore store = store(shared);
    store.load();
    assertTrue(file("policy.yml").mkdir() && file("policy.yml/x").mkdir());
    refused(store, "policy.yml");
    assertTrue(file("policy.yml/x").delete() && file("policy.yml").delete());
    assertEquals(1, store(shared).load().version);
  }

  /** A store that hangs is awaited until the deadline; what it writes later is undone. */
  @Test
  public void aHangingWriteIsGivenUpAndUndone() throws Exception {
    conf.setInt(BridgeConfig.STATE_DEADLINE_MS, 2000);
    SharedTexts shared = new SharedTexts();
    PolicyConfigStore store = store(shared);
    store.load();
    String before = shared.read("applied.json");
    shared.hangs = new CountDownLatch(1);
    refused(store, "not written within 2000 ms (loomcard.state.deadline-ms)");
    shared.hangs.countDown();
    Until.waitUntil("later writes come after the undoing", () -> {
      store.keepSaved(new TreeMap<>());
      return shared.read("saved.json") != null;
    });
    assertEquals(before, shared.read("applied.json"));
    assertNull(LocalStateStore.read(file("policy.yml").toPath()));
    assertEquals("[1]", versions(store).toString());
  }

  private void refused(PolicyConfigStore store, String why) throws Exception {
    try {
      store.apply(version(2));
      fail("applied");
    } catch (IOException e) {
      assertTrue(e.toString(), e.toString().contains(why));
    }
  }

  private File file(String name) {
    return new File(folder.getRoot(), name);
  }
}
