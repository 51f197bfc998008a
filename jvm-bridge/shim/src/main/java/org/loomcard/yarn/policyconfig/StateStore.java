package org.loomcard.yarn.policyconfig;

import java.io.IOException;
import java.util.List;

/** Where texts that must outlive the ResourceManager are kept, by name. */
public interface StateStore {

  /** The text of that name, or null where there is none. */
  String read(String name) throws IOException;

  /** Puts a text in place of the one before: whole and on stable storage, or not at all. */
  void write(String name, String text) throws IOException;

  /** Forgets a text; does nothing where there is none. */
  void delete(String name) throws IOException;

  /** The names of all texts. */
  List<String> names() throws IOException;

  /** Whether it belongs to the cluster, so that another ResourceManager finds the same here. */
  boolean isShared();

  /** Ends what connects it to the store; the next call would connect again. */
  void close();

  /** The place of that name, for messages. */
  String place(String name);
}
