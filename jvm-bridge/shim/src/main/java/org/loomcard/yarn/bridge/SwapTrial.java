package org.loomcard.yarn.bridge;

import java.io.IOException;
import java.util.Map;

/** The first round of a new configuration, and the way back. On the round thread. */
final class SwapTrial {
  private final BridgeConfig config;
  private final Books books;
  private final SetupStore store;
  private final PolicyRounds rounds;
  private final Standby standby;

  SwapTrial(BridgeConfig config, Books books, SetupStore store, PolicyRounds rounds,
      Standby standby) {
    this.config = config;
    this.books = books;
    this.store = store;
    this.rounds = rounds;
    this.standby = standby;
  }

  /**
   * Gives the books the new tree, lets the candidate decide one round, and keeps the configuration
   * if that was a good one.
   *
   * @return null, or why it is no good; the books and the saved parts are then to be taken back
   * @throws SetupRefusedException when nothing has changed yet
   */
  String run(RunningPolicy candidate, AppliedSetup wanted) throws SetupRefusedException {
    books.apply(wanted.setup, wanted.version);
    rounds.forgetOutside(wanted.setup);
    rounds.snapshotNext("swap to version " + wanted.version);
    try {
      RoundEnd end = rounds.run(candidate, wanted);
      if (end.bad != null || end.fault != null) {
        return end.bad != null ? end.bad : end.fault;
      }
    } catch (PolicyFailureException e) {
      return e.getMessage();
    }
    return keep(wanted);
  }

  private String keep(AppliedSetup wanted) {
    standby.begin(config.roundDeadlineMs); // a disk may be slow, or hang
    try {
      store.apply(wanted);
      return null;
    } catch (IOException e) {
      return "it cannot be kept: " + e;
    } finally {
      standby.end();
    }
  }

  /**
   * The old tree and what was saved under it.
   *
   * @throws SetupRefusedException when meanwhile somebody used a queue that only the new tree has
   */
  void takeBack(AppliedSetup old, Map<String, String> saved) throws SetupRefusedException {
    rounds.restore(saved);
    rounds.snapshotNext("the configuration of version " + old.version + " governs again");
    books.apply(old.setup, old.version);
  }
}
