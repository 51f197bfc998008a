package org.loomcard.yarn.bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * How long the scheduler's lock is kept, by the method of ours that took it. It is measured by the
 * clock and by the CPU time of the holder, which pauses of the machine or of the JVM do not
 * lengthen.
 */
final class LockHolds {
  private static final String OURS = "org.loomcard.yarn.";
  private static final double NANOS_PER_MS = 1e6;
  /** Finding the holder costs more time than most holds take. */
  private static final long WORTH_A_LOOK_NANOS = 200_000;
  private static final String SHORT = "shorter than 0.2 ms, all together";

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final Map<String, Place> places = new ConcurrentHashMap<>();

  ReentrantReadWriteLock.WriteLock write(ReentrantReadWriteLock lock) {
    return new Write(lock);
  }

  ReentrantReadWriteLock.ReadLock read(ReentrantReadWriteLock lock) {
    return new Read(lock);
  }

  /** Returns the holds since the last call, longest first. */
  List<Map<String, Object>> take() {
    List<Place> taken = new ArrayList<>();
    for (String place : new ArrayList<>(places.keySet())) {
      taken.add(places.remove(place));
    }
    taken.sort((one, other) -> Long.compare(other.longest.get(), one.longest.get()));
    List<Map<String, Object>> rows = new ArrayList<>();
    for (Place place : taken) {
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("where", place.where);
      row.put("mode", place.mode);
      row.put("holds", place.holds.get());
      row.put("longest_ms", place.longest.get() / NANOS_PER_MS);
      row.put("longest_cpu_ms", place.longestCpu.get() / NANOS_PER_MS);
      row.put("sum_ms", place.sum.get() / NANOS_PER_MS);
      rows.add(row);
    }
    return rows;
  }

  private void held(String mode, long nanos, long cpuNanos) {
    String where = nanos < WORTH_A_LOOK_NANOS ? SHORT : holder();
    Place place = places.computeIfAbsent(mode + where, key -> new Place(mode, where));
    place.holds.incrementAndGet();
    place.sum.addAndGet(nanos);
    place.longest.accumulateAndGet(nanos, Math::max);
    place.longestCpu.accumulateAndGet(cpuNanos, Math::max);
  }

  private static String holder() {
    for (StackTraceElement frame : new Throwable().getStackTrace()) {
      String type = frame.getClassName();
      if (type.startsWith(OURS) && !type.startsWith(LockHolds.class.getName())) {
        return type.substring(OURS.length()) + "." + frame.getMethodName();
      }
    }
    return "YARN itself";
  }

  /** All holds from one place. */
  private static final class Place {
    private final String mode;
    private final String where;
    private final AtomicLong holds = new AtomicLong();
    private final AtomicLong longest = new AtomicLong();
    private final AtomicLong longestCpu = new AtomicLong();
    private final AtomicLong sum = new AtomicLong();

    private Place(String mode, String where) {
      this.mode = mode;
      this.where = where;
    }
  }

  /** Only the holder reads and writes {@code since}. */
  private final class Write extends ReentrantReadWriteLock.WriteLock {
    private static final long serialVersionUID = 1L;
    private long since;
    private long cpuSince;

    private Write(ReentrantReadWriteLock lock) {
      super(lock);
    }

    @Override
    public void lock() {
      super.lock();
      if (getHoldCount() == 1) {
        since = System.nanoTime();
        cpuSince = THREADS.getCurrentThreadCpuTime();
      }
    }

    @Override
    public void unlock() {
      long nanos = getHoldCount() == 1 ? System.nanoTime() - since : -1;
      long cpuNanos = nanos < 0 ? 0 : THREADS.getCurrentThreadCpuTime() - cpuSince;
      super.unlock();
      if (nanos >= 0) {
        held("write", nanos, cpuNanos);
      }
    }
  }

  /** A reader blocks writers, and a waiting writer blocks the readers behind it. */
  private final class Read extends ReentrantReadWriteLock.ReadLock {
    private static final long serialVersionUID = 1L;
    private final transient ReentrantReadWriteLock whole;
    private final transient ThreadLocal<long[]> since = new ThreadLocal<>();

    private Read(ReentrantReadWriteLock lock) {
      super(lock);
      whole = lock;
    }

    @Override
    public void lock() {
      super.lock();
      if (whole.getReadHoldCount() == 1) {
        since.set(new long[] {System.nanoTime(), THREADS.getCurrentThreadCpuTime()});
      }
    }

    @Override
    public void unlock() {
      long[] begin = whole.getReadHoldCount() == 1 ? since.get() : null;
      long nanos = begin == null ? 0 : System.nanoTime() - begin[0];
      long cpuNanos = begin == null ? 0 : THREADS.getCurrentThreadCpuTime() - begin[1];
      super.unlock();
      if (begin != null) {
        held("read", nanos, cpuNanos);
      }
    }
  }
}
