package org.loomcard.yarn.commit;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.apache.hadoop.yarn.api.records.Resource;
import org.loomcard.yarn.queues.Amounts;
import org.loomcard.yarn.state.LoomcardNode;

/**
 * The nodes that had room when this was made, by partition, host and rack. It is read without
 * YARN's lock, so it is a hint: each allocation is checked again under the lock. For one thread.
 */
public final class FitIndex {
  private final Map<String, Partition> partitions = new TreeMap<>();

  /**
   * Reads the nodes.
   *
   * @param least nodes with less room than this are left out
   * @param room what may be taken of a node
   */
  FitIndex(Collection<LoomcardNode> nodes, Resource least, Function<LoomcardNode, long[]> room) {
    long[] smallest = Amounts.of(least);
    for (LoomcardNode node : nodes) {
      long[] free = room.apply(node);
      if (within(smallest, free)) {
        partitions.computeIfAbsent(node.getPartition(), label -> new Partition())
            .add(new FreeNode(node, free));
      }
    }
  }

  boolean isEmpty() {
    return partitions.isEmpty();
  }

  /**
   * Returns where asks with that label may go, in order: to the nodes of its partition; without a
   * label also to those of each partition that lends. Partitions without room are left out.
   */
  List<Partition> partitions(String label) {
    List<Partition> found = new ArrayList<>();
    Partition own = partitions.get(label);
    if (own != null) {
      found.add(own);
    }
    if (label.isEmpty()) {
      for (Partition other : partitions.values()) {
        if (other != own && other.lends) {
          found.add(other);
        }
      }
    }
    return found;
  }

  /** Whether every amount of {@code size} is within {@code room}. */
  private static boolean within(long[] size, long[] room) {
    for (int i = 0; i < size.length; i++) {
      if (size[i] > room[i]) {
        return false;
      }
    }
    return true;
  }

  /** One node and its free amounts. */
  static final class FreeNode {
    final LoomcardNode node;
    private final long[] free;

    private FreeNode(LoomcardNode node, long[] free) {
      this.node = node;
      this.free = free;
    }

    boolean mayFit(long[] size) {
      return within(size, free);
    }

    /** Subtracts a container of that size, which was allocated here. */
    void take(long[] size) {
      Amounts.add(free, Amounts.negative(size));
    }

    /** Reads the room again: the node had less than noted. The caller holds YARN's lock. */
    void readAgain() {
      System.arraycopy(Amounts.of(node.getUnallocatedResource()), 0, free, 0, free.length);
    }
  }

  /** The nodes of one partition in order of number, and the sizes that fit on none of them. */
  static final class Partition {
    private final List<FreeNode> places = new ArrayList<>();
    private final Map<String, List<FreeNode>> byName = new HashMap<>();
    private final ExhaustedShapes unplaceable = new ExhaustedShapes();
    private long[] most;
    private boolean lends;

    private void add(FreeNode place) {
      places.add(place);
      lends |= place.node.isShared();
      byName.computeIfAbsent(place.node.getNodeName(), name -> new ArrayList<>()).add(place);
      byName.computeIfAbsent(place.node.getRackName(), name -> new ArrayList<>()).add(place);
      if (most == null) {
        most = place.free.clone();
      }
      for (int i = 0; i < most.length; i++) {
        most[i] = Math.max(most[i], place.free[i]);
      }
    }

    List<FreeNode> all() {
      return places;
    }

    /** Returns the nodes of that host or rack name. */
    List<FreeNode> named(String name) {
      List<FreeNode> found = byName.get(name);
      return found == null ? Collections.<FreeNode>emptyList() : found;
    }

    /** Returns false when it is known that no node has room for {@code size}. */
    boolean mayFit(long[] size) {
      return within(size, most) && !unplaceable.cover(size);
    }

    /** Notes that every node was tried: no size of at least these amounts fits anywhere. */
    void fitsNowhere(long[] size) {
      unplaceable.add(size);
    }
  }

  /** Sizes that found no place. A size at least as large as one of them finds no place either. */
  public static final class ExhaustedShapes {
    /** Limits the cost of a look-up; sizes beyond this number are tried again. */
    private static final int MOST = 64;
    private final List<long[]> sizes = new ArrayList<>();

    public void add(long[] size) {
      sizes.removeIf(known -> within(size, known));
      if (sizes.size() < MOST) {
        sizes.add(size.clone());
      }
    }

    public boolean cover(long[] size) {
      for (long[] known : sizes) {
        if (within(known, size)) {
          return true;
        }
      }
      return false;
    }
  }
}
