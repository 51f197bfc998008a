package org.loomcard.yarn.wire;

import java.util.ArrayList;
import java.util.List;
import org.loomcard.yarn.json.JsonCursor;
import org.loomcard.yarn.json.MessageException;

/**
 * Text to {@link PlanMessage}. Strict: an unknown tag or a missing field refuses the whole plan,
 * naming the place.
 */
public final class PlanReader {
  private PlanReader() {
  }

  /**
   * Reads the reply to a batch.
   *
   * @throws MessageException when it is not a plan of schema 1; an {@code error} reply is thrown
   *     with
   *     its own message
   */
  public static PlanMessage read(String text) throws MessageException {
    JsonCursor in = new JsonCursor(text);
    in.open("reply");
    String tag = in.string("reply: tag");
    if (tag.equals("error")) {
      throw new MessageException("the policy process answered an error: " + in.string("error"));
    }
    if (!tag.equals("plan")) {
      throw new MessageException("reply: expected the tag plan, found " + tag);
    }
    PlanMessage plan = new PlanMessage(in.number("plan: round"), decisions(in), timers(in),
        waits(in),
        in.rawValues("plan: reports"), in.rawValues("plan: saved"), faults(in), headroom(in),
        queueWaits(in), in.stringOrNull("plan: resync"), in.numbers("plan: cuts"));
    in.close("plan");
    in.end();
    return plan;
  }

  private static List<PlanMessage.Decision> decisions(JsonCursor in) throws MessageException {
    List<PlanMessage.Decision> decisions = new ArrayList<>();
    in.open("plan: decisions");
    while (in.element("plan: decision")) {
      String tag = in.string("plan: decision: tag");
      if (tag.equals("allocate")) {
        decisions.add(new PlanMessage.Allocate(in.integer("allocate: attempt"),
            in.integer("allocate: priority"),
            in.number("allocate: allocation_request_id"), in.integer("allocate: node"),
                in.integer("allocate: count"),
            in.integer("allocate: instance")));
      } else if (tag.equals("preempt")) {
        decisions.add(new PlanMessage.Preempt(in.number("preempt: container"),
            in.number("preempt: grace_ms"),
            in.string("preempt: reason"), in.integer("preempt: instance")));
      } else if (tag.equals("reserve")) {
        decisions.add(new PlanMessage.Reserve(in.integer("reserve: attempt"),
            in.integer("reserve: priority"), in.number("reserve: allocation_request_id"),
            in.integer("reserve: node"), in.numberOrNull("reserve: until_ms"),
            in.integer("reserve: instance")));
      } else if (tag.equals("unreserve")) {
        decisions.add(new PlanMessage.Unreserve(in.integer("unreserve: attempt"),
            in.integer("unreserve: priority"),
            in.number("unreserve: allocation_request_id"),
            in.integer("unreserve: instance")));
      } else {
        throw in.wrong("plan: decision " + decisions.size(),
            "the tag allocate, preempt, reserve or unreserve");
      }
      in.close(tag);
    }
    return decisions;
  }

  private static List<PlanMessage.Timer> timers(JsonCursor in) throws MessageException {
    List<PlanMessage.Timer> timers = new ArrayList<>();
    in.open("plan: timers");
    while (in.element("plan: timer")) {
      timers.add(new PlanMessage.Timer(in.integer("timer: instance"),
          in.numberOrNull("timer: at_ms")));
      in.close("timer");
    }
    return timers;
  }

  private static List<PlanMessage.Wait> waits(JsonCursor in) throws MessageException {
    List<PlanMessage.Wait> waits = new ArrayList<>();
    in.open("plan: waits");
    while (in.element("plan: wait")) {
      waits.add(new PlanMessage.Wait(in.integer("wait: attempt"), in.integer("wait: priority"),
          in.number("wait: allocation_request_id"), in.string("wait: reason"),
          in.numberOrNull("wait: until_ms")));
      in.close("wait");
    }
    return waits;
  }

  private static List<PlanMessage.Fault> faults(JsonCursor in) throws MessageException {
    List<PlanMessage.Fault> faults = new ArrayList<>();
    in.open("plan: faults");
    while (in.element("plan: fault")) {
      faults.add(new PlanMessage.Fault(in.integer("fault: instance"), in.string("fault: message"),
          in.string("fault: traceback")));
      in.close("fault");
    }
    return faults;
  }

  private static List<PlanMessage.Headroom> headroom(JsonCursor in) throws MessageException {
    List<PlanMessage.Headroom> headroom = new ArrayList<>();
    in.open("plan: headroom");
    while (in.element("plan: headroom")) {
      headroom.add(new PlanMessage.Headroom(in.integer("headroom: application"),
          in.numbers("headroom: amounts")));
      in.close("headroom");
    }
    return headroom;
  }

  private static List<PlanMessage.QueueWait> queueWaits(JsonCursor in) throws MessageException {
    List<PlanMessage.QueueWait> waits = new ArrayList<>();
    in.open("plan: queue_waits");
    while (in.element("plan: queue_wait")) {
      waits.add(new PlanMessage.QueueWait(in.integer("queue_wait: queue"),
          in.string("queue_wait: reason"), in.number("queue_wait: until_ms")));
      in.close("queue_wait");
    }
    return waits;
  }
}
