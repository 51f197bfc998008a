package org.loomcard.yarn.web.tables;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The document's resources as the page shows them. */
public final class AmountText {
  private static final long MILLION = 1_000_000;
  private static final long GIGABYTE = 1024;

  private AmountText() {
  }

  /** Writes a resource, such as {@code 2.25 GB, 2 vcores}; an empty resource is {@code none}. */
  public static String text(JsonNode amounts) {
    List<String> each = each(amounts);
    return each.isEmpty() ? "none" : String.join(", ", each);
  }

  /** Writes it for a cell of a table, one line per type; a resource of zeros is one dash. */
  public static List<String> lines(JsonNode amounts) {
    for (JsonNode amount : amounts) {
      if (amount.asLong() != 0) {
        return each(amounts);
      }
    }
    return Collections.singletonList("-");
  }

  /** The lines as one text. */
  static String held(JsonNode amounts) {
    return String.join(", ", lines(amounts));
  }

  private static List<String> each(JsonNode amounts) {
    List<String> each = new ArrayList<>();
    Iterator<Map.Entry<String, JsonNode>> fields = amounts.fields();
    while (fields.hasNext()) {
      Map.Entry<String, JsonNode> field = fields.next();
      long amount = field.getValue().asLong();
      each.add(field.getKey().equals("memory_mb") ? memory(amount)
          : String.format(Locale.ROOT, "%,d %s", amount, unit(field.getKey(), amount)));
    }
    return each;
  }

  /**
   * Writes memory, such as {@code 512 MB} or {@code 2.25 GB}, to two decimals from a gigabyte on.
   */
  private static String memory(long mb) {
    if (Math.abs(mb) < GIGABYTE) {
      return mb + " MB";
    }
    String exact = String.format(Locale.ROOT, "%,.2f", (double) mb / GIGABYTE);
    return exact.replaceAll("\\.?0+$", "") + " GB";
  }

  private static String unit(String type, long amount) {
    return type.equals("vcores") && amount == 1 ? "vcore" : type;
  }

  /** Returns {@code ppm} millionths of a resource, rounded down. */
  static JsonNode part(JsonNode whole, long ppm) {
    ObjectNode part = JsonNodeFactory.instance.objectNode();
    Iterator<Map.Entry<String, JsonNode>> fields = whole.fields();
    while (fields.hasNext()) {
      Map.Entry<String, JsonNode> field = fields.next();
      long amount = field.getValue().asLong();
      part.put(field.getKey(), amount / MILLION * ppm + amount % MILLION * ppm / MILLION);
    }
    return part;
  }

  /**
   * Returns the dominant share of {@code part}: its largest ratio to the limit of a queue, or to
   * the cluster if the queue has none; 0 when there is nothing to compare with.
   */
  public static double share(JsonNode part, JsonNode limit, JsonNode capacity) {
    double share = 0;
    Iterator<Map.Entry<String, JsonNode>> fields = part.fields();
    while (fields.hasNext()) {
      Map.Entry<String, JsonNode> field = fields.next();
      long amount = field.getValue().asLong();
      long whole = limit.has(field.getKey())
          ? limit.get(field.getKey()).asLong() : capacity.path(field.getKey()).asLong();
      if (whole > 0) {
        share = Math.max(share, (double) amount / whole);
      }
    }
    return share;
  }
}
