package org.loomcard.yarn.config;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** A caller that shows the token of the state folder can read that folder. */
public class ApplyTokenTest {
  @Rule
  public final TemporaryFolder root = new TemporaryFolder();
  private File folder;
  private Path file;
  private ApplyToken token;

  @Before
  public void name() {
    folder = new File(root.getRoot(), "state");
    token = new ApplyToken(folder);
    file = token.file();
  }

  private String read() throws IOException {
    return new String(Files.readAllBytes(file), StandardCharsets.US_ASCII);
  }

  private void write(String text, String mode) throws IOException {
    Files.write(file, text.getBytes(StandardCharsets.US_ASCII));
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(mode));
  }

  /** It is readable by its owner only, is long, and survives a restart. */
  @Test
  public void isMadeOnceForItsOwnerAlone() throws Exception {
    token.prepare();
    String text = read();
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
    assertTrue(text, text.matches("[0-9a-f]{64}"));
    token.prepare();
    assertEquals(text, read());
    assertEquals(1, folder.list().length);
  }

  /**
   * Nothing but the token is accepted as the token, and one that was copied here counts at once.
   */
  @Test
  public void isComparedWhole() throws Exception {
    token.prepare();
    String text = read();
    assertTrue(token.matches(text));
    for (String wrong : new String[] {null, "", text.substring(1), text + "0", text + "\n",
        text.replace(text.charAt(0), 'x'), "\u0130" + text}) {
      assertFalse(token.matches(wrong));
    }
    String copied = "abcdefghijklmnopqrstuvwxyz_-0123456789";
    write(copied + "\n", "rw-------");
    assertTrue(token.matches(copied));
    assertFalse(token.matches(text));
  }

  /** A token that is deleted, that others may have read, or that can be guessed is replaced. */
  @Test
  public void isRenewedWhereItIsNoSecret() throws Exception {
    token.prepare();
    String first = read();
    Files.delete(file);
    assertFalse(token.matches(first));
    String second = read();
    for (String mode : new String[] {"rw-r-----", "rw----r--", "rw--w----"}) {
      write(second, mode);
      assertFalse(mode, token.matches(second));
      assertNotEquals(second, read());
    }
    for (String weak : new String[] {"", "short", first + " " + second}) {
      write(weak, "rw-------");
      assertFalse(weak, token.matches(weak));
    }
    Path elsewhere = root.newFile("mine").toPath();
    Files.write(elsewhere, first.getBytes(StandardCharsets.US_ASCII));
    Files.delete(file);
    Files.createSymbolicLink(file, elsewhere);
    assertFalse(token.matches(first));
    assertTrue(Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS));
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
  }

  /** If no token can be written, none is accepted, and the error names the file. */
  @Test
  public void withoutAPlaceThereIsNone() throws Exception {
    Files.createFile(folder.toPath());
    token.prepare();
    try {
      token.matches("");
      fail("a file is no folder");
    } catch (IOException e) {
      assertTrue(e.getMessage(), e.getMessage().startsWith(file + ": no token"));
    }
  }
}
