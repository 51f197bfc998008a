package org.loomcard.yarn.queues;

import static org.junit.Assert.assertEquals;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.conf.Configuration;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.config.PolicyConfig;

/** The tree of queues while it changes. */
public class QueueTreeTest {
  private static final int QUEUES = 200;

  /** A client that lists the queues meets no queue that is only half there. */
  @Test
  public void aNewQueueIsWholeBeforeItIsFound() throws Exception {
    ConfigText text = new ConfigText().queue("root", -1, false, "");
    QueueTree tree = new QueueTree(new Configuration(false), false);
    tree.apply(PolicyConfig.read(text.text()));
    ExecutorService thread = Executors.newSingleThreadExecutor();
    AtomicBoolean done = new AtomicBoolean();
    try {
      Future<?> reader = thread.submit(() -> {
        while (!done.get()) {
          tree.root().getQueueInfo(true, true);
        }
      });
      for (int i = 0; i < QUEUES; i++) {
        tree.apply(PolicyConfig.read(text.queue("root.new" + i, 0, true, "").text()));
      }
      done.set(true);
      reader.get();
    } finally {
      done.set(true);
      thread.shutdown();
    }
    assertEquals(QUEUES, tree.root().getQueueInfo(true, true).getChildQueues().size());
  }
}
