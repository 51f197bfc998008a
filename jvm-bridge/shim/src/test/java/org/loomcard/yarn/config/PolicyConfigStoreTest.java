package org.loomcard.yarn.config;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;
import static org.mockito.Mockito.mock;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.conf.Configuration;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.loomcard.yarn.wire.Golden;
import org.mockito.AdditionalAnswers;
import org.mockito.stubbing.Answer;

/** What survives a restart of the ResourceManager, and the message if it cannot be read. */
public class PolicyConfigStoreTest {
  @Rule
  public final TemporaryFolder folder = new TemporaryFolder();
  private final Configuration conf = new Configuration(false);

  @Before
  public void configure() {
    conf.set(BridgeConfig.STATE_DIR, file("state").getPath());
    conf.set(BridgeConfig.SETUP_PATH, file("setup.json").getPath());
    conf.set(BridgeConfig.POLICY_FILE, file("policy.yml").getPath());
  }

  /** The configured policy configuration is version 1, until one is applied. */
  @Test
  public void startsWithTheFirstConfig() throws Exception {
    write("setup.json", Golden.policyConfig().json + "\n");
    AppliedConfig first = store().load();
    assertEquals(1, first.version);
    assertEquals(Golden.policyConfig().json, first.policyConfig.json);
  }

  /** The policy configuration applied last wins over the configured one, byte for byte. */
  @Test
  public void startsWithTheConfigAppliedLast() throws Exception {
    write("setup.json", "not even JSON");
    store().apply(new AppliedConfig(Golden.policyConfig(), 7, "policy: \"drf\"\n"));
    AppliedConfig last = store().load();
    assertEquals(7, last.version);
    assertEquals("policy: \"drf\"\n", last.yaml);
    assertEquals(Golden.policyConfig().json, last.policyConfig.json);
    assertEquals("policy: \"drf\"\n", read("policy.yml"));
  }

  /** The previous YAML is kept beside the applied one. */
  @Test
  public void keepsThePreviousYaml() throws Exception {
    write("policy.yml", "old");
    store().apply(new AppliedConfig(Golden.policyConfig(), 2, "new"));
    assertEquals("new", read("policy.yml"));
    assertEquals("old", read("policy.yml.previous"));
    store().apply(new AppliedConfig(Golden.policyConfig(), 3, "new"));
    assertEquals("the same text again does not bury it", "old", read("policy.yml.previous"));
  }

  /** Without any policy configuration the error names key and command. */
  @Test
  public void saysWhatToDoWithoutAConfig() throws Exception {
    refused("setup.json: no such file; compile one with 'loomcard policy compile'");
    conf.unset(BridgeConfig.SETUP_PATH);
    refused("loomcard.setup.path is not set");
  }

  /** A damaged file is named, with the place. */
  @Test
  public void namesADamagedFile() throws Exception {
    write("setup.json", "{\"schema\":9,\"hash\":\"\",\"queues\":[]}");
    refused("setup.json: config: schema: expected 1, found 9");
    assertTrue(file("state").mkdirs());
    write("state/applied.json", "{\"version\":1,\"config\":{\"sch");
    refused("applied.json: not JSON");
  }

  /** Saved parts come back; damaged ones are dropped, and the start continues. */
  @Test
  public void keepsWhatPoliciesSaved() throws Exception {
    Map<String, String> parts = Collections.singletonMap("root.a:dress", "{\"delta\":0.25}");
    assertTrue(store().loadSaved().isEmpty());
    store().keepSaved(parts);
    assertEquals(parts, store().loadSaved());
    write("state/saved.json", "{\"root");
    assertTrue(store().loadSaved().isEmpty());
  }

  /** If the YAML cannot be written, nothing counts as applied. */
  @Test
  public void appliesNothingThatCannotBeWritten() throws Exception {
    assertTrue(file("policy.yml").mkdir());
    assertTrue(file("policy.yml/x").mkdir());
    try {
      store().apply(new AppliedConfig(Golden.policyConfig(), 2, "new"));
      fail("written over a folder");
    } catch (IOException e) {
      assertFalse(file("state/applied.json").exists());
    }
  }

  /** A write that took effect, though its answer was lost, is undone. */
  @Test
  public void undoesAWriteWhoseAnswerIsLost() throws Exception {
    store().apply(new AppliedConfig(Golden.policyConfig(), 7, "old"));
    AtomicBoolean loses = new AtomicBoolean();
    Answer<Object> files = AdditionalAnswers.delegatesTo(
        new LocalStateStore(new BridgeConfig(conf).stateDir));
    PolicyConfigStore lossy = new PolicyConfigStore(new BridgeConfig(conf),
        mock(StateStore.class, call -> {
          Object answer = files.answer(call);
          boolean applied = call.getMethod().getName().equals("write")
              && "applied.json".equals(call.getArgument(0));
          if (applied && loses.getAndSet(false)) {
            throw new IOException("the answer is lost");
          }
          return answer;
        }));
    lossy.load();
    loses.set(true);
    try {
      lossy.apply(new AppliedConfig(Golden.policyConfig(), 8, "new"));
      fail("applied, though the store refused it");
    } catch (IOException e) {
      assertEquals("the answer is lost", e.getMessage());
    }
    assertEquals(7, store().load().version);
  }

  private void refused(String why) {
    try {
      store().load();
      fail("loaded");
    } catch (IOException e) {
      assertTrue(e.getMessage(), e.getMessage().contains(why));
    }
  }

  private PolicyConfigStore store() {
    return new PolicyConfigStore(new BridgeConfig(conf));
  }

  private File file(String name) {
    return new File(folder.getRoot(), name);
  }

  private void write(String name, String text) throws IOException {
    Files.write(file(name).toPath(), text.getBytes(StandardCharsets.UTF_8));
  }

  private String read(String name) throws IOException {
    return new String(Files.readAllBytes(file(name).toPath()), StandardCharsets.UTF_8);
  }
}
