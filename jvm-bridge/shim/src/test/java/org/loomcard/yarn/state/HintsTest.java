package org.loomcard.yarn.state;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import org.junit.Test;

/** Only Loomcard's part of a submission reaches policies and journals. */
public class HintsTest {
  private final Map<String, String> environment = new HashMap<>();
  private final Map<String, String> properties = new HashMap<>();

  /** Secrets are not copied, even if their names look like ours. */
  @Test
  public void nothingOfAnEnvironmentButTheDag() {
    environment.put("LOOMCARD_DAG", "{}");
    environment.put("LOOMCARD_TOKEN", "s3cret");
    environment.put("AWS_SECRET_ACCESS_KEY", "s3cret");
    environment.put("loomcard.token", "s3cret");
    properties.put("loomcard.deadline", "5");
    properties.put("any.scheduling.property", "s3cret");
    Map<String, String> hints = Hints.of(environment, properties);
    assertEquals(new HashSet<>(Arrays.asList("LOOMCARD_DAG", "loomcard.deadline")),
        hints.keySet());
    assertEquals("{}", hints.get("LOOMCARD_DAG"));
  }

  /** Hints may come as properties, without a variable; if there are both, the variable counts. */
  @Test
  public void theDagMayBeASchedulingProperty() {
    properties.put("LOOMCARD_DAG", "[]");
    assertEquals(properties, Hints.of(null, properties));
    environment.put("LOOMCARD_DAG", "{}");
    assertEquals(environment, Hints.of(environment, properties));
  }

  /** Hints beyond the bound are left out whole; the others stay. */
  @Test
  public void hintsAreBounded() {
    char[] long1 = new char[Hints.MOST_CHARACTERS];
    Arrays.fill(long1, 'x');
    environment.put("LOOMCARD_DAG", new String(long1));
    properties.put("loomcard.small", "1");
    assertEquals(Collections.singletonMap("loomcard.small", "1"),
        Hints.of(environment, properties));
  }

  /** An application that says nothing has no hints. */
  @Test
  public void noEnvironmentIsNoHint() {
    assertTrue(Hints.of(null, properties).isEmpty());
  }
}
