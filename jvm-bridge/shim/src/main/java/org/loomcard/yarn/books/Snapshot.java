package org.loomcard.yarn.books;

import org.loomcard.yarn.bridge.BatchWriter;
import org.loomcard.yarn.bridge.EngineClock;
import org.loomcard.yarn.queues.Amounts;

/** Everything the ledger holds, as the records that build it up from nothing. */
final class Snapshot {
  private Snapshot() {
  }

  static void write(Ledger ledger, BatchWriter out, EngineClock clock) {
    long at = out.nowMs();
    for (LoomcardNode node : ledger.nodes()) {
      Ledger.writeNode(out, at, node, Amounts.of(node.getTotalResource()));
    }
    for (LoomcardApplication application : ledger.applications()) {
      application.writeTo(out, at, clock);
      LoomcardAttempt attempt = application.attempt();
      if (attempt != null) {
        writeAttempt(out, at, attempt);
      }
    }
    for (ContainerEntry entry : ledger.containers()) {
      out.containerAdded(at, entry.text());
    }
    for (LoomcardApplication application : ledger.applications()) {
      LoomcardAttempt attempt = application.attempt();
      if (attempt != null && !attempt.isStopped()) {
        attempt.writeAll(out);
      }
    }
  }

  /** An ended attempt is introduced too: containers may go on in its name. */
  private static void writeAttempt(BatchWriter out, long at, LoomcardAttempt attempt) {
    Ledger.writeAttempt(out, at, attempt);
    if (attempt.isRegistered()) {
      out.attemptRegistered(at, attempt.number());
    }
    if (attempt.isStopped()) {
      out.attemptRemoved(at, attempt.number(), "");
    }
  }
}
