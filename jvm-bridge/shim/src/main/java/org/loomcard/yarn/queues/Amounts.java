package org.loomcard.yarn.queues;

import org.apache.hadoop.yarn.api.records.Resource;
import org.loomcard.yarn.hadoop.YarnRecords;

/**
 * Arithmetic on resource vectors as the wire has them: one integer a resource type, memory in MB
 * first, then vcores.
 */
public final class Amounts {
  private static final long MILLION = 1_000_000L;

  private Amounts() {
  }

  /** The amounts of {@code resource}, in YARN's order of types. */
  public static long[] of(Resource resource) {
    return YarnRecords.amounts(resource);
  }

  /** A YARN resource with these amounts, negative ones as 0. */
  public static Resource toResource(long[] amounts) {
    return YarnRecords.resource(amounts);
  }

  /** Names of the types in the order of the amounts; memory is {@code memory_mb} on the wire. */
  public static String[] names() {
    String[] names = YarnRecords.types();
    names[0] = "memory_mb";
    return names;
  }

  /** Adds {@code more} to {@code sum} in place. */
  public static void add(long[] sum, long[] more) {
    for (int i = 0; i < sum.length; i++) {
      sum[i] += more[i];
    }
  }

  /** {@code one + other}. */
  public static long[] sum(long[] one, long[] other) {
    long[] sum = one.clone();
    add(sum, other);
    return sum;
  }

  /** {@code -amounts}. */
  public static long[] negative(long[] amounts) {
    long[] negative = new long[amounts.length];
    for (int i = 0; i < negative.length; i++) {
      negative[i] = -amounts[i];
    }
    return negative;
  }

  /**
   * Whether {@code used + more} stays within {@code limit} in every type in which {@code more} is
   * positive.
   */
  public static boolean fits(long[] used, long[] more, long[] limit) {
    for (int i = 0; i < limit.length; i++) {
      if (more[i] > 0 && used[i] + more[i] > limit[i]) {
        return false;
      }
    }
    return true;
  }

  /** Lowers {@code room} in place to {@code limit - used} where that is less. */
  public static void narrow(long[] room, long[] limit, long[] used) {
    for (int i = 0; i < room.length; i++) {
      room[i] = Math.min(room[i], limit[i] - used[i]);
    }
  }

  /** {@code ppm} millionths of {@code whole}, rounded down. */
  public static long[] share(long[] whole, long ppm) {
    long[] part = new long[whole.length];
    for (int i = 0; i < part.length; i++) {
      long millions = whole[i] / MILLION;
      part[i] = millions * ppm + (whole[i] - millions * MILLION) * ppm / MILLION;
    }
    return part;
  }

  /** {@code part / whole} in the type where that is largest; 0 of nothing. */
  public static float dominantShare(long[] part, long[] whole) {
    float share = 0f;
    for (int i = 0; i < whole.length; i++) {
      if (whole[i] > 0) {
        share = Math.max(share, (float) part[i] / whole[i]);
      }
    }
    return share;
  }

  public static boolean isZero(long[] amounts) {
    for (long amount : amounts) {
      if (amount != 0) {
        return false;
      }
    }
    return true;
  }
}
