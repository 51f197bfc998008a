package org.loomcard.yarn.queues;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.util.Iterator;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.junit.Test;
import org.loomcard.yarn.ConfigText;
import org.loomcard.yarn.config.PolicyConfig;
import org.loomcard.yarn.wire.Golden;

/** What queues allow applications: the same cases, with the same texts, as in Python's tests. */
public class AdmissionTest {
  private static final ApplicationId ID = ApplicationId.newInstance(1, 1);

  private static JsonNode golden(String part) throws Exception {
    JsonNode cases = new ObjectMapper().readTree(new File(Golden.repository(),
        "tests/golden/admission.json")).get(part);
    assertTrue(cases.size() > 5);
    return cases;
  }

  private static QueueTree tree(JsonNode queues) throws Exception {
    ConfigText text = new ConfigText();
    for (Iterator<Map.Entry<String, JsonNode>> i = queues.fields(); i.hasNext();) {
      Map.Entry<String, JsonNode> queue = i.next();
      String keys = queue.getValue().toString();
      boolean isRoot = queue.getKey().equals("root");
      text.queue(queue.getKey(), isRoot ? -1 : 0, !isRoot,
          keys.substring(1, keys.length() - 1));
    }
    QueueTree tree = new QueueTree(new Configuration(false), false);
    tree.apply(PolicyConfig.read(text.text()));
    return tree;
  }

  @Test
  public void refusals() throws Exception {
    for (JsonNode each : golden("refusals")) {
      QueueTree tree = tree(each.get("queues"));
      for (JsonNode live : each.get("live")) {
        tree.find(live.get(0).asText()).countApplication(live.get(1).asText(), 1);
      }
      String expected = each.get("refusal").isNull() ? null
          : each.get("refusal").asText().replace("ID", ID.toString());
      assertEquals(each.get("says").asText(), expected, Admission.refusal(
          tree.find(each.get("to").asText()), null, each.get("user").asText(), ID));
    }
  }

  @Test
  public void lifetimes() throws Exception {
    ObjectMapper json = new ObjectMapper();
    for (JsonNode each : golden("lifetimes")) {
      ObjectNode queues = json.createObjectNode();
      queues.putObject("root");
      queues.set("root.a", each.get("queue"));
      long lifetime = Admission.lifetime(tree(queues).specOf("root.a"), each.get("asked").asLong());
      assertEquals(each.toString(), each.get("seconds").asLong(), Math.max(0, lifetime));
    }
  }
}
