package org.apache.hadoop.yarn.client.api.impl;

import java.io.DataOutput;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.yarn.security.AMRMTokenIdentifier;

/**
 * Replaces a class of YARN's tests whose protobuf half Hadoop does not publish: a token of a later
 * version, with one field that this ResourceManager does not know.
 */
public final class AMRMTokenIdentifierForTest extends AMRMTokenIdentifier {
  private static final int UNKNOWN_FIELD = 9 << 3 | 2;  // number 9, a string
  private final String message;

  /** The same as the older token, with a message of at most 127 bytes. */
  public AMRMTokenIdentifierForTest(AMRMTokenIdentifier older, String message) {
    super(older.getApplicationAttemptId(), older.getKeyId());
    this.message = message;
  }

  public String getMessage() {
    return message;
  }

  @Override
  public void write(DataOutput out) throws IOException {
    super.write(out);
    byte[] bytes = message.getBytes(StandardCharsets.UTF_8);
    out.writeByte(UNKNOWN_FIELD);
    out.writeByte(bytes.length);
    out.write(bytes);
  }
}
