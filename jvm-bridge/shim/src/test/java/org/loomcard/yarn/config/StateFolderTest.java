package org.loomcard.yarn.config;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** The configuration that the cluster uses is in a folder where only its owner may write. */
public class StateFolderTest {
  @Rule
  public final TemporaryFolder folder = new TemporaryFolder();

  private static void refused(File state, String why) throws IOException {
    try {
      StateFolder.prepare(state);
    } catch (IOException e) {
      assertTrue(e.getMessage(), e.getMessage().startsWith("loomcard.state.dir: " + state));
      assertTrue(e.getMessage(), e.getMessage().contains(why));
      return;
    }
    fail(state + " was taken");
  }

  /** A new folder is accessible to its owner only, and is accepted the next time. */
  @Test
  public void isMadeForItsOwnerAlone() throws Exception {
    File state = new File(folder.getRoot(), "a/b");
    StateFolder.prepare(state);
    StateFolder.prepare(state);
    assertEquals("rwx------",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(state.toPath())));
  }

  private static String mode(File file) throws IOException {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(file.toPath()));
  }

  /** The first store also makes the folder so, with files that nobody else can read. */
  @Test
  public void theStoreKeepsItPrivate() throws Exception {
    File state = new File(folder.getRoot(), "a/b");
    LocalStateStore store = new LocalStateStore(state);
    store.check("loomcard.state.dir");
    assertEquals("rwx------", mode(state));
    store.write("applied.json", "{}");
    assertEquals("rw-------", mode(new File(state, "applied.json")));
  }

  /** A folder where others may write is refused: a policy of theirs may be in it. */
  @Test
  public void isRefusedWhereOthersMayWrite() throws Exception {
    Path state = folder.newFolder("state").toPath();
    Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxrwxrwx"));
    refused(state.toFile(), "mode rwxrwxrwx");
  }

  /** The rights that a umask of 002 leaves are corrected. */
  @Test
  public void itsGroupLosesTheRightToWrite() throws Exception {
    Path state = folder.newFolder("state").toPath();
    Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxrwxr-x"));
    StateFolder.prepare(state.toFile());
    assertEquals("rwxr-xr-x",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(state)));
  }

  /** A folder of another user is refused: that user could replace it. */
  @Test
  public void isRefusedWhereAnotherOwnsIt() throws Exception {
    File proc = new File("/proc/1");
    String owner = Files.getOwner(proc.toPath()).getName();
    String self = Files.getOwner(folder.getRoot().toPath()).getName();
    if (!owner.equals(self)) {
      refused(proc, "one that belongs to " + owner);
      return;
    }
    File state = folder.newFolder("state");
    Files.setOwner(state.toPath(), state.toPath().getFileSystem()
        .getUserPrincipalLookupService().lookupPrincipalByName("nobody"));
    refused(state, "one that belongs to nobody; chown it to " + self);
  }

  /** A file in the place of the folder is named. */
  @Test
  public void isRefusedWhereAFileStands() throws Exception {
    refused(folder.newFile("state"), "found a file");
  }

  /** The default is not a folder of /tmp, where anybody may have made it before. */
  @Test
  public void theDefaultIsNotInTmp() {
    Configuration conf = new Configuration(false);
    conf.set("hadoop.tmp.dir", "/tmp/hadoop-" + System.getProperty("user.name"));
    assertEquals(new File(System.getProperty("user.home"), ".loomcard"),
        new BridgeConfig(conf).stateDir);
    conf.set("hadoop.tmp.dir", "/data/hadoop");
    assertEquals(new File("/data/hadoop/loomcard"), new BridgeConfig(conf).stateDir);
  }
}
