package org.loomcard.yarn.player.context;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

/** The commands that a node gets for containers. */
public class CommandTest {
  /** The bash line and the comment for virtual containers name the same length and exit status. */
  @Test
  public void aTimedContainerRunsAsLongAsItsTaskTakes() {
    Command command = new Command("localhost", 1);
    assertEquals("sleep 1.050; exit 0 # loomcard sleep 1050 0", command.timed(1050, false));
    assertEquals("sleep 0.300; exit 1 # loomcard sleep 300 1", command.timed(300, true));
  }
}
