package org.loomcard.yarn.web;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.inject.Inject;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.DIV;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.TABLE;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.TBODY;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.TD;
import org.apache.hadoop.yarn.webapp.hamlet2.Hamlet.TR;
import org.apache.hadoop.yarn.webapp.view.HtmlBlock;
import org.loomcard.yarn.status.StatusProvider;
import org.loomcard.yarn.web.tables.AmountText;
import org.loomcard.yarn.web.tables.ReservationTable;
import org.loomcard.yarn.web.tables.LabelTable;
import org.loomcard.yarn.web.tables.LimitTable;
import org.loomcard.yarn.web.tables.ReportTables;

/** The content of the page: {@link SchedulerDocument} as tiles and tables. */
public final class SchedulerBlock extends HtmlBlock {
  private static final DateTimeFormatter SECONDS = DateTimeFormatter
      .ofPattern("yyyy-MM-dd HH:mm:ss 'UTC'", Locale.ROOT).withZone(ZoneOffset.UTC);
  private static final int HASH_SHOWN = 12;
  private static final String[] AMOUNTS = {"used", "pending", "guaranteed", "entitlement"};
  private static final int INDENT_PX = 16;
  private final ResourceScheduler scheduler;

  /** Called by the ResourceManager's injector. */
  @Inject
  public SchedulerBlock(ViewContext context, ResourceManager rm) {
    super(context);
    scheduler = rm.getResourceScheduler();
  }

  @Override
  protected void render(Block html) {
    if (!(scheduler instanceof StatusProvider)) {
      html.p().__("The scheduler is " + scheduler.getClass().getName()
          + ", which this page cannot show.").__();
      return;
    }
    JsonNode document = SchedulerDocument.of(((StatusProvider) scheduler).status(),
        SchedulerDocument.USUAL_LIMIT);
    DIV<Hamlet> page = html.div(".lc");
    tiles(page, document);
    stalled(page, document.path("bridge").path("stalled"));
    queues(page, document);
    LabelTable.render(page, document.path("queues"));
    LimitTable.render(page, document.path("queues"));
    ReservationTable.render(page, document.path("reservations"));
    waiting(page, document.path("waiting"), document.path("waiting_total"));
    ReportTables.render(page, document.path("queues"));
    page.__();
  }

  private static void tiles(DIV<Hamlet> page, JsonNode document) {
    JsonNode policyConfig = document.path("config");
    JsonNode bridge = document.path("bridge");
    JsonNode allocations = document.path("allocations");
    DIV<DIV<Hamlet>> tiles = page.div(".tiles");
    String hash = policyConfig.path("hash").asText("");
    tile(tiles, "up", "Policy", policyConfig.path("policy").asText("none"),
        "version " + policyConfig.path("version").asInt() + ", "
        + policyConfig.path("source").asText("?"),
        "hash " + hash.substring(0, Math.min(HASH_SHOWN, hash.length())));
    String state = bridge.path("state").asText();
    tile(tiles, state, "Policy process", state, "since " + time(bridge.path("since_ms").asLong())
        + ", failed " + times(bridge.path("failures")) + ", started again "
        + times(bridge.path("restarts")),
        failure(bridge));
    tile(tiles, "up", "Containers allocated by policy", number(allocations.path("policy").asLong()),
        "", "");
    long fallback = allocations.path("fallback").asLong();
    tile(tiles, fallback > 0 ? "fallback" : "up", "Allocated by the fallback", number(fallback),
        "", "");
    tile(tiles, "up", "Rounds", number(bridge.path("rounds").asLong()),
        "the last took " + bridge.path("last_round_ms").asText() + " ms", "");
    tile(tiles, "up", "Decisions refused", number(sum(document.path("refusals"))),
        list(document.path("refusals")), "");
    JsonNode cluster = document.path("cluster");
    tile(tiles, "up", "Nodes", number(cluster.path("nodes").asLong()),
        AmountText.text(cluster.path("capacity")), "");
    tiles.__();
  }

  /** Why the fallback served last, and since when it no longer does. */
  private static String failure(JsonNode bridge) {
    JsonNode failure = bridge.path("last_failure");
    if (failure.isNull()) {
      return "no failure so far";
    }
    JsonNode recovered = bridge.path("recovered_ms");
    String over = recovered.isNull() ? "" : " (recovered at " + time(recovered.asLong()) + ")";
    return "last failure" + over + ": " + failure.asText();
  }

  private static void tile(DIV<DIV<Hamlet>> tiles, String state, String name, String value,
      String more, String evenMore) {
    tiles.div(".tile." + state).b(name).i(value).span(more).span(evenMore).__();
  }

  private static void queues(DIV<Hamlet> page, JsonNode document) {
    page.h2("Queues");
    TBODY<TABLE<DIV<Hamlet>>> body = page.table("#queues").thead().tr()
        .th("Queue").th("Policy").th("Weight").th("Use of maximum").th("Used").th("Pending")
        .th("Guaranteed").th("Entitled").th("Maximum").th("Apps")
        .th("Containers").th("May submit").__().__().tbody();
    JsonNode capacity = document.path("cluster").path("capacity");
    for (JsonNode queue : document.path("queues")) {
      queue(body, queue, capacity);
    }
    body.__().__();
  }

  private static void queue(TBODY<TABLE<DIV<Hamlet>>> body, JsonNode queue, JsonNode capacity) {
    String path = queue.path("path").asText();
    String name = path.substring(path.lastIndexOf('.') + 1);
    int depth = path.length() - path.replace(".", "").length();
    TR<TBODY<TABLE<DIV<Hamlet>>>> row = body.tr();
    TD<TR<TBODY<TABLE<DIV<Hamlet>>>>> title = row.td().$title(path)
        .$style("padding-left:" + (depth + 1) * INDENT_PX + "px").__(name);
    String state = queue.path("state").asText("running");
    if (!state.equals("running")) {
      title.span(".state", state);
    }
    title.__();
    TD<TR<TBODY<TABLE<DIV<Hamlet>>>>> policy = row.td();
    policy.__(queue.path("policy").isNull() ? "(governed from above)"
        : queue.path("policy").asText());
    Iterator<Map.Entry<String, JsonNode>> options = queue.path("options").fields();
    while (options.hasNext()) {
      Map.Entry<String, JsonNode> option = options.next();
      policy.div(".small").__(option.getKey() + ": " + (option.getValue().isTextual()
          ? option.getValue().asText() : option.getValue().toString())).__();
    }
    policy.__();
    row.td(".number", queue.path("weight").asText());
    bar(row, queue, capacity);
    for (String key : AMOUNTS) {
      amounts(row, queue.path(key));
    }
    if (queue.path("maximum").size() == 0) {
      row.td("no limit");
    } else {
      amounts(row, queue.path("maximum"));
    }
    row.td(".number", queue.path("applications").asText("0"))
        .td(".number", queue.path("containers").asText("0"))
        .td(joined(queue.path("submit")))
        .__();
  }

  private static void amounts(TR<TBODY<TABLE<DIV<Hamlet>>>> row, JsonNode amounts) {
    TD<TR<TBODY<TABLE<DIV<Hamlet>>>>> cell = row.td().$class("amount");
    for (String line : AmountText.lines(amounts)) {
      cell.div().__(line).__();
    }
    cell.__();
  }

  /**
   * Draws what is used from the left, then what is pending up to the border, and a mark at the end
   * of the guarantee.
   */
  private static void bar(TR<TBODY<TABLE<DIV<Hamlet>>>> row, JsonNode queue,
      JsonNode capacity) {
    JsonNode limit = queue.path("maximum");
    double used = Math.min(1, AmountText.share(queue.path("used"), limit, capacity));
    double pending = Math.min(1 - used,
        AmountText.share(queue.path("pending"), limit, capacity));
    double guaranteed = Math.min(1,
        AmountText.share(queue.path("guaranteed"), limit, capacity));
    DIV<TD<TR<TBODY<TABLE<DIV<Hamlet>>>>>> bar = row.td().div(".bar")
        .div().$class("used").$style("width:" + percent(used)).__()
        .div().$class("pending")
        .$style("left:" + percent(used) + ";width:" + percent(pending)).__();
    if (guaranteed > 0) {
      bar.div().$class("mark").$style("left:" + percent(guaranteed)).__();
    }
    bar.__().span(".small", percent(used)).__();
  }

  private static void waiting(DIV<Hamlet> page, JsonNode waiting, JsonNode total) {
    page.h2("Applications that wait");
    if (waiting.size() == 0) {
      page.p().__("None: every ask is served.").__();
      return;
    }
    page.p().__(counted(total, "application") + " with " + counted(total, "ask") + " for "
        + counted(total, "container") + "; of each queue at most "
        + number(total.path("limit").asLong()) + " asks are listed.").__();
    TBODY<TABLE<DIV<Hamlet>>> body = page.table("#waiting").thead().tr()
        .th("Application").th("Name").th("User").th("Queue").th("Priority").th("Containers")
        .th("Each").th("Reason").__().__().tbody();
    for (JsonNode application : waiting) {
      for (JsonNode ask : application.path("asks")) {
        String id = application.path("application").asText();
        body.tr().td().a("/cluster/app/" + id, id).__()
            .td(application.path("name").asText())
            .td(application.path("user").asText())
            .td(application.path("queue").asText())
            .td(".number", ask.path("priority").asText())
            .td(".number", ask.path("count").asText())
            .td(AmountText.text(ask.path("resource")))
            .td(reason(ask))
            .__();
      }
    }
    body.__().__();
  }

  private static String reason(JsonNode ask) {
    String reason = ask.path("reason").asText("none given");
    JsonNode until = ask.path("until_ms");
    return until.isIntegralNumber() ? reason + ", by the policy's rule until "
        + time(until.asLong()) : reason;
  }

  private static void stalled(DIV<Hamlet> page, JsonNode stalled) {
    if (stalled.size() == 0) {
      return;
    }
    page.h2("Queues that their policy left waiting");
    TBODY<TABLE<DIV<Hamlet>>> body = page.table("#stalled").thead().tr().th("Queue").th("At")
        .th("First in, first out until").th("Times").th("What waited").__().__().tbody();
    for (JsonNode stall : stalled) {
      body.tr().td(stall.path("queue").asText())
          .td(time(stall.path("at_ms").asLong())).td(time(stall.path("until_ms").asLong()))
          .td(".number", stall.path("times").asText()).td(stall.path("message").asText()).__();
    }
    body.__().__();
  }

  private static String counted(JsonNode total, String thing) {
    long count = total.path(thing + "s").asLong();
    return number(count) + " " + thing + (count == 1 ? "" : "s");
  }

  private static String times(JsonNode count) {
    return count.asLong() == 1 ? "once" : number(count.asLong()) + " times";
  }

  private static String joined(JsonNode names) {
    StringBuilder text = new StringBuilder();
    for (JsonNode name : names) {
      text.append(text.length() == 0 ? "" : ", ")
          .append(name.asText().equals("*") ? "everyone" : name.asText());
    }
    return text.length() == 0 ? "nobody" : text.toString();
  }

  private static String list(JsonNode counts) {
    StringBuilder text = new StringBuilder();
    Iterator<Map.Entry<String, JsonNode>> fields = counts.fields();
    while (fields.hasNext()) {
      Map.Entry<String, JsonNode> field = fields.next();
      text.append(text.length() == 0 ? "" : ", ").append(field.getKey()).append(' ')
          .append(number(field.getValue().asLong()));
    }
    return text.toString();
  }

  private static long sum(JsonNode counts) {
    long sum = 0;
    for (JsonNode count : counts) {
      sum += count.asLong();
    }
    return sum;
  }

  private static String number(long value) {
    return String.format(Locale.ROOT, "%,d", value);
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.1f%%", share * 100);
  }

  private static String time(long ms) {
    return SECONDS.format(Instant.ofEpochMilli(ms));
  }
}
