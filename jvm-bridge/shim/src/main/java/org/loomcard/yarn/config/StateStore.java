package org.loomcard.yarn.config;

import java.io.IOException;
import java.util.List;

/** Where texts that must outlive the ResourceManager are kept, by name. */
public interface StateStore {

  /** Returns the text of that name, or null if there is none. */
  String read(String name) throws IOException;

  /** Replaces a text: whole and on stable storage, or not at all. */
  void write(String name, String text) throws IOException;

  /** Deletes a text; does nothing if there is none. */
  void delete(String name) throws IOException;

  /** Returns the names of all texts. */
  List<String> names() throws IOException;

  /** Whether it belongs to the cluster, so that another ResourceManager finds the same texts. */
  boolean isShared();

  /** Closes the connection to the store; the next call would connect again. */
  void close();

  /** Returns the place of that name, for messages. */
  String place(String name);
}
