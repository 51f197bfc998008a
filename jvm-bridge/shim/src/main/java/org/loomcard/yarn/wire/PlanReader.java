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
    PlanMessage plan = new PlanMessage(in.number("plan: round"), decisions(in),
        list(in, "timer", () -> new PlanMessage.Timer(in.integer("timer: instance"),
            in.numberOrNull("timer: at_ms"))),
        list(in, "wait", () -> new PlanMessage.Wait(in.integer("wait: attempt"),
            in.integer("wait: priority"), in.number("wait: allocation_request_id"),
            in.string("wait: reason"), in.numberOrNull("wait: until_ms"))),
        in.rawValues("plan: reports"), in.rawValues("plan: saved"),
        list(in, "fault", () -> new PlanMessage.Fault(in.integer("fault: instance"),
            in.string("fault: message"), in.string("fault: traceback"))),
        list(in, "headroom", () -> new PlanMessage.Headroom(in.integer("headroom: application"),
            in.numbers("headroom: amounts"))),
        list(in, "queue_wait", () -> new PlanMessage.QueueWait(in.integer("queue_wait: queue"),
            in.string("queue_wait: reason"), in.number("queue_wait: until_ms"))),
        in.stringOrNull("plan: resync"), in.numbers("plan: cuts"));
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
                in.integer("allocate: count"), in.integer("allocate: instance")));
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
            in.integer("unreserve: priority"), in.number("unreserve: allocation_request_id"),
            in.integer("unreserve: instance")));
      } else {
        throw in.wrong("plan: decision " + decisions.size(),
            "the tag allocate, preempt, reserve or unreserve");
      }
      in.close(tag);
    }
    return decisions;
  }

  /** Reads one element of a list. */
  private interface Element<T> {
    T read() throws MessageException;
  }

  private static <T> List<T> list(JsonCursor in, String what, Element<T> element)
      throws MessageException {
    List<T> all = new ArrayList<>();
    in.open("plan: " + what + "s");
    while (in.element("plan: " + what)) {
      all.add(element.read());
      in.close(what);
    }
    return all;
  }
}
