package org.loomcard.yarn.player.context;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategy;
import java.io.File;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * A workload with all random values sampled, as python/loomcard/workload/scenario.py writes it: the
 * fields that submissions need. Times are in ms, amounts in the order of {@link #resourceTypes}.
 */
public final class Scenario {
  public List<String> resourceTypes;
  public List<Application> applications;
  public long amHeartbeatMs;
  public long amStartMs;

  /** One application. */
  public static final class Application {
    public String id;
    public long submitMs;
    public String queue;
    public String user;
    public String kind;
    public List<String> tags = Collections.emptyList();
    public long[] am;
  }

  /** The player's input: the scenario, and additional data. */
  public static final class Input {
    public Scenario scenario;
    /** The hints that each application gives its scheduler. */
    public Map<String, Map<String, String>> hints = Collections.emptyMap();
    /** An application that is played before the scenario; null if the scenario has none. */
    public Application warmUp;
  }

  /** Reads the player's input file. */
  public static Input read(File file) throws IOException {
    return json().readValue(file, Input.class);
  }

  /**
   * Returns a reader and writer of names such as submit_ms. Jackson of Hadoop 2.10 knows the
   * strategy by its former name only.
   */
  @SuppressWarnings("deprecation")
  public static ObjectMapper json() {
    return new ObjectMapper()
        .setPropertyNamingStrategy(new PropertyNamingStrategy.SnakeCaseStrategy())
        .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
  }
}
