package org.loomcard.yarn.web.tables;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Locale;

/**
 * The values of a report as the page shows them; {@code loomcard status} writes them in the same
 * way.
 */
final class FigureText {
  private static final String SHARE = "share";
  private static final MathContext DIGITS = new MathContext(4);

  private FigureText() {
  }

  /** Returns the label of a figure or column, and its unit; a share's values are percentages. */
  static String heading(JsonNode figure) {
    String unit = figure.path("unit").asText("");
    String label = figure.path("label").asText();
    return unit.isEmpty() || unit.equals(SHARE) ? label : label + ", " + unit;
  }

  /** Returns a value of a figure or column; its unit is only written if it is a percentage. */
  static String text(JsonNode figure, JsonNode value) {
    if (value.isNull() || value.isMissingNode()) {
      return "-";
    }
    if (value.isNumber() && figure.path("unit").asText("").equals(SHARE)) {
      return String.format(Locale.ROOT, "%.1f %%", value.asDouble() * 100);
    }
    if (value.isIntegralNumber()) {
      return String.format(Locale.ROOT, "%,d", value.bigIntegerValue());
    }
    if (value.isNumber()) {
      BigDecimal rounded = new BigDecimal(value.asDouble()).round(DIGITS);
      return rounded.signum() == 0 ? "0" : rounded.stripTrailingZeros().toPlainString();
    }
    if (value.isBoolean()) {
      return value.asBoolean() ? "yes" : "no";
    }
    return value.isArray() ? list(figure, value) : value.isTextual() ? value.asText()
        : value.toString();
  }

  /** Returns the value of a figure, followed by its unit. */
  static String withUnit(JsonNode figure) {
    String unit = figure.path("unit").asText("");
    JsonNode value = figure.path("value");
    String text = text(figure, value);
    return unit.isEmpty() || unit.equals(SHARE) || value.isNull() ? text : text + " " + unit;
  }

  private static String list(JsonNode figure, JsonNode values) {
    StringBuilder text = new StringBuilder();
    for (JsonNode value : values) {
      text.append(text.length() == 0 ? "" : ", ").append(text(figure, value));
    }
    return text.length() == 0 ? "-" : text.toString();
  }
}
