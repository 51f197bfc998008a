package org.loomcard.yarn.wire;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.Test;
import org.loomcard.yarn.state.Hints;

/**
 * A hint is data of the submitting user. Whatever text it is, the batch is one line of JSON, and
 * the hint and all that comes after it are read unchanged.
 */
public class HintFuzzTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int MOST_CHARACTERS = 256 * 1024;
  private static final String DAG = "LOOMCARD_DAG";
  private static final String[] PIECES = {
    "\"", "\\", "\\u", "\\ud800", "\n", "\r", "\u0000", "\u001f", "\u007f", "\u0085", "\u2028",
    "\u2029", "\ufeff", "\ufffe", "]]", "[\"plan\",", "</script>", "\ud834\udd1e", "e\n", "!xs",
  };

  /**
   * Returns random texts of characters that JSON, Py4J, lines of a journal and UTF-8 treat
   * specially.
   */
  @Test
  public void everyTextArrivesAsItIs() throws Exception {
    Random random = new Random(13);
    for (int i = 0; i < 2_000; i++) {
      StringBuilder text = new StringBuilder();
      for (int length = random.nextInt(40); length > 0; length--) {
        if (random.nextBoolean()) {
          text.append(PIECES[random.nextInt(PIECES.length)]);
        } else {
          text.appendCodePoint(anyCharacter(random));
        }
      }
      assertArrives(text.toString(), text.toString());
    }
  }

  /**
   * YARN's REST accepts half of a surrogate pair, which is not valid text: it arrives as a question
   * mark, not as bytes that Python cannot read.
   */
  @Test
  public void halfOfAPairArrivesAsAQuestionMark() throws Exception {
    assertArrives("a\ud834b", "a?b");
    assertArrives("\udd1e", "?");
    assertArrives("\udd1e\ud834", "??");
    assertArrives("\"\ud834", "\"?");
  }

  /** A megabyte is left out, and so is a hint that is one character too long. */
  @Test
  public void aLongTextIsLeftOutWhole() throws Exception {
    for (int length : new int[] {MOST_CHARACTERS - DAG.length() + 1, 1 << 20}) {
      assertEquals(Collections.emptyMap(), of(repeat('x', length)));
    }
    String longest = repeat('\u20ac', MOST_CHARACTERS - DAG.length());
    assertArrives(longest, longest);
  }

  /** Whatever names properties have, no more than the bound is accepted, and ours first. */
  @Test
  public void propertiesAreBoundedTogether() {
    Random random = new Random(14);
    for (int i = 0; i < 200; i++) {
      Map<String, String> properties = new HashMap<>();
      for (int n = random.nextInt(20); n > 0; n--) {
        String name = (random.nextBoolean() ? "loomcard." : "") + PIECES[random.nextInt(
            PIECES.length)] + n;
        properties.put(name, random.nextInt(9) == 0 ? null
            : repeat((char) random.nextInt(0xd800), random.nextInt(60_000)));
      }
      Map<String, String> hints = Hints.of(Collections.singletonMap(DAG, "[]"), properties);
      assertEquals("[]", hints.get(DAG));
      int characters = 0;
      for (Map.Entry<String, String> hint : hints.entrySet()) {
        assertTrue(hint.getKey().equals(DAG) || hint.getKey().startsWith("loomcard."));
        characters += hint.getKey().length() + hint.getValue().length();
      }
      assertTrue(characters <= MOST_CHARACTERS);
    }
  }

  private static int anyCharacter(Random random) {
    int found = random.nextInt(Character.MAX_CODE_POINT + 1);
    boolean half = found >= Character.MIN_SURROGATE && found <= Character.MAX_SURROGATE;
    return half ? 'x' : found;
  }

  private static Map<String, String> of(String text) {
    return Hints.of(Collections.singletonMap(DAG, text), Collections.emptyMap());
  }

  /** Sends it through the batch and over the wire, which is UTF-8. */
  private static void assertArrives(String text, String expected) throws Exception {
    BatchWriter out = new BatchWriter(1, 1, 5);
    out.applicationAdded(3, 7, new ApplicationRecord("application_1_0007", 1, text, text, text,
        Collections.singletonList(text), 0, 2, of(text)));
    out.attemptRegistered(4, 7);
    byte[] sent = out.finish().getBytes(StandardCharsets.UTF_8);
    String read = new String(sent, StandardCharsets.UTF_8);
    assertFalse(read.contains("\n"));
    JsonNode records = JSON.readTree(sent).get(5);
    assertEquals(2, records.size());
    JsonNode added = records.get(0);
    for (JsonNode field : Arrays.asList(added.get(5), added.get(6), added.get(7),
        added.get(8).get(0), added.get(11).get(DAG))) {
      assertEquals(expected, field.textValue());
    }
    assertEquals(JSON.readTree("[\"attempt_registered\",4,7]"), records.get(1));
  }

  private static String repeat(char c, int length) {
    char[] text = new char[length];
    Arrays.fill(text, c);
    return new String(text);
  }
}
