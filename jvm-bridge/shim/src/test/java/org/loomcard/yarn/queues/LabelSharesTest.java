package org.loomcard.yarn.queues;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.config.PolicyConfig;

/** The guaranteed and the largest use of queues on the nodes of a label, in amounts. */
public class LabelSharesTest {
  private static String half(String key) {
    return "\"label_" + key + "_ppm\":{\"gpu\":500000}";
  }

  /** A tree on 8 GB of gpu in a cluster of 32 GB. */
  private static QueueTree tree(String root) throws Exception {
    QueueTree tree = new QueueTree(new Configuration(false), false);
    tree.partitions().put(NodeId.newInstance("h1", 1), "gpu", new long[] {8192, 8});
    tree.apply(PolicyConfig.read(new ConfigText().queue("root", -1, false, root)
        .queue("root.a", 0, false, half("guaranteed"))
        .queue("root.a.x", 1, true, half("guaranteed") + "," + half("maximum"))
        .queue("root.b", 0, false, "").queue("root.b.y", 3, true, half("guaranteed")).text()));
    tree.resize(Resource.newInstance(32768, 32));
    return tree;
  }

  private static String guaranteed(QueueTree tree, String path) {
    return Arrays.toString(tree.find(path).labelShares().guaranteed("gpu"));
  }

  /** Each is a part of the parent's guarantee; a part of nothing is nothing. */
  @Test
  public void aGuaranteeIsAPartOfTheParents() throws Exception {
    QueueTree tree = tree("");
    assertEquals("[4096, 4]", guaranteed(tree, "root.a"));
    assertEquals("[2048, 2]", guaranteed(tree, "root.a.x"));
    assertEquals("[0, 0]", guaranteed(tree, "root.b.y"));
    assertEquals("[4096, 4]", Arrays.toString(tree.find("root.a.x").labelShares().maximum("gpu")));
    assertNull("states nothing", tree.find("root.b").labelShares().guaranteed("gpu"));
    assertNull("of this label", tree.find("root.a").labelShares().guaranteed("fpga"));
  }

  /**
   * The queues below root share what root is guaranteed, or without a guarantee what it may use.
   */
  @Test
  public void rootIsGuaranteedWhatItMayUse() throws Exception {
    assertEquals("[2048, 2]", guaranteed(tree(half("maximum")), "root.a"));
    assertEquals("[2048, 2]", guaranteed(tree(half("guaranteed")), "root.a"));
  }
}
