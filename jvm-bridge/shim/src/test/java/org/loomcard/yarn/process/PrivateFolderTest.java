package org.loomcard.yarn.process;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** The place of a policy process's secret. */
public class PrivateFolderTest {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  /** A state folder that accepts no files does not stop the policy. */
  @Test
  public void theSpareFolderServesWhereTheFirstTakesNoFiles() throws Exception {
    File broken = new File(folder.newFile("no-folder"), "state");
    File spare = folder.newFolder("spare");
    PrivateFolder made = PrivateFolder.in(broken, spare);
    Path path = made.secretFile().toPath().getParent();
    assertEquals(spare.toPath(), path.getParent());
    assertEquals("rwx------",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
    assertEquals(64, made.secretFile().length());
    made.delete();
    assertEquals(0, spare.list().length);
  }

  /** The first folder is used while it can be. */
  @Test
  public void theFirstFolderServesOtherwise() throws Exception {
    File first = folder.newFolder("state");
    File spare = folder.newFolder("spare");
    PrivateFolder made = PrivateFolder.in(first, spare);
    assertTrue(made.secretFile().toPath().startsWith(first.toPath()));
    assertEquals(0, spare.list().length);
  }

  /** If both accept no files, the error of the last one says so. */
  @Test
  public void withoutAnyFolderThereIsAnError() throws Exception {
    File broken = new File(folder.newFile("no-folder"), "state");
    assertThrows(IOException.class, () -> PrivateFolder.in(broken, broken));
  }
}
