package org.loomcard.yarn.chaos;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.GroupMappingServiceProvider;

/**
 * A directory of users in which every user is in the group {@code chaos}. Each request takes as
 * many milliseconds as the file says that {@value #DELAY_FILE} names.
 */
public final class SlowGroups implements GroupMappingServiceProvider, Configurable {
  static final String DELAY_FILE = "loomcard.chaos.groups.delay-file";
  private Configuration conf;

  @Override
  public List<String> getGroups(String user) throws IOException {
    Path file = Paths.get(conf.get(DELAY_FILE));
    if (Files.exists(file)) {
      try {
        String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8).trim();
        Thread.sleep(text.isEmpty() ? 0 : Long.parseLong(text));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    return Collections.singletonList("chaos");
  }

  @Override
  public void cacheGroupsRefresh() {
    // There is no cache.
  }

  @Override
  public void cacheGroupsAdd(List<String> groups) {
    // There is no cache.
  }

  @Override
  public void setConf(Configuration given) {
    conf = given;
  }

  @Override
  public Configuration getConf() {
    return conf;
  }
}
