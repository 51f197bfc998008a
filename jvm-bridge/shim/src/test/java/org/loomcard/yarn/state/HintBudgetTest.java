package org.loomcard.yarn.state;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import org.junit.Test;

/** A user with many applications cannot make snapshots larger than the bound. */
public class HintBudgetTest {
  private final HintBudget budget = new HintBudget();
  private final Map<String, String> large = hint(Hints.MOST_CHARACTERS - "LOOMCARD_DAG".length());

  private static Map<String, String> hint(int characters) {
    char[] text = new char[characters];
    Arrays.fill(text, 'x');
    return Collections.singletonMap("LOOMCARD_DAG", new String(text));
  }

  /**
   * Hints beyond the bound are left out whole, of that user only; an application that ends makes
   * room.
   */
  @Test
  public void aUserHasABound() {
    int fit = HintBudget.MOST_OF_A_USER / Hints.MOST_CHARACTERS;
    for (int i = 0; i < fit; i++) {
      assertEquals(large, budget.take("greedy", large));
    }
    assertTrue(budget.take("greedy", hint(1)).isEmpty());
    assertEquals(large, budget.take("modest", large));
    budget.giveBack("greedy", large);
    assertEquals(large, budget.take("greedy", large));
    assertTrue(budget.take("greedy", hint(1)).isEmpty());
  }

  /** Applications without hints, or with hints that were left out, give nothing back. */
  @Test
  public void nothingTakenIsNothingGivenBack() {
    for (int i = 0; i < HintBudget.MOST_OF_A_USER / Hints.MOST_CHARACTERS; i++) {
      budget.take("greedy", large);
    }
    budget.giveBack("greedy", budget.take("greedy", large));
    budget.giveBack("greedy", Collections.emptyMap());
    assertTrue(budget.take("greedy", hint(1)).isEmpty());
  }
}
