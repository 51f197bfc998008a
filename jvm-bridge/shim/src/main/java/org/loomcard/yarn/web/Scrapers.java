package org.loomcard.yarn.web;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.servlet.http.HttpServletRequest;

/** Who asked for the metrics at {@code /prom}, and when: the latest few. Any thread may call. */
final class Scrapers {
  static final String PATH = "/prom";
  private static final int MOST = 8;
  private static final int LONGEST = 100;
  /** When, by System.nanoTime, by address and program with a space between them. */
  private final Map<String, Long> latest = new LinkedHashMap<>();

  /** Notes a request for the metrics. */
  synchronized void note(HttpServletRequest request) {
    String agent = String.valueOf(request.getHeader("User-Agent"));
    String who = request.getRemoteAddr() + ' '
        + PolicyUpload.printable(agent.substring(0, Math.min(LONGEST, agent.length())));
    latest.remove(who); // to stand last
    latest.put(who, System.nanoTime());
    if (latest.size() > MOST) {
      latest.remove(latest.keySet().iterator().next());
    }
  }

  /** Returns them, oldest first. */
  synchronized JsonArray document() {
    JsonArray document = new JsonArray();
    latest.forEach((who, atNanos) -> {
      JsonObject scraper = new JsonObject();
      scraper.addProperty("address", who.substring(0, who.indexOf(' ')));
      scraper.addProperty("agent", who.substring(who.indexOf(' ') + 1));
      scraper.addProperty("age_ms", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - atNanos));
      document.add(scraper);
    });
    return document;
  }
}
