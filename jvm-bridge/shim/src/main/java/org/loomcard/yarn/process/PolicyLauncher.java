package org.loomcard.yarn.process;

import java.io.IOException;

/** Starts policies, one after the other. */
public interface PolicyLauncher {

  /**
   * Starts one and waits until it can be talked to.
   *
   * @param onEnd called once, from any thread, when it ends for whatever reason
   * @throws IOException when it does not get ready; nothing is left running then
   */
  RunningPolicy launch(Runnable onEnd) throws IOException, InterruptedException;
}
