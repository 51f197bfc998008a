package org.loomcard.yarn.hadoop;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a class file says: what it declares, and what it uses of other classes. Read without loading
 * the class, since a class that lacks something may not load. All names are the JVM's, with
 * slashes; a member is its name and descriptor with a blank between them.
 */
final class ClassFile {
  private static final int UTF8 = 1;
  private static final int LONG = 5;
  private static final int DOUBLE = 6;
  private static final int CLASS = 7;
  private static final int STRING = 8;
  private static final int FIELD = 9;
  private static final int INTERFACE_METHOD = 11;
  private static final int METHOD_HANDLE = 15;
  private static final int METHOD_TYPE = 16;
  private static final int MODULE = 19;
  private static final int PACKAGE = 20;
  /** Bits as in {@link java.lang.reflect.Modifier}. */
  final int access;
  final String name;
  /** Its superclass, null for Object, and then its interfaces. */
  final List<String> parents = new ArrayList<>();
  final Map<String, Integer> fields;
  final Map<String, Integer> methods;
  /** The classes that it names. */
  final Set<String> classes = new HashSet<>();
  /** The fields and methods that it uses, each with the class through which it uses them. */
  final Set<Use> uses = new HashSet<>();
  private final String[] texts;
  private final int[] firsts;
  private final int[] seconds;

  ClassFile(InputStream file) throws IOException {
    DataInputStream in = new DataInputStream(new BufferedInputStream(file));
    skip(in, 8); // the magic number and the version
    int count = in.readUnsignedShort();
    texts = new String[count];
    firsts = new int[count];
    seconds = new int[count];
    readConstants(in);
    access = in.readUnsignedShort();
    name = texts[firsts[in.readUnsignedShort()]];
    int parent = in.readUnsignedShort();
    parents.add(parent == 0 ? null : texts[firsts[parent]]);
    for (int i = in.readUnsignedShort(); i > 0; i--) {
      parents.add(texts[firsts[in.readUnsignedShort()]]);
    }
    fields = members(in);
    methods = members(in);
  }

  private void readConstants(DataInputStream in) throws IOException {
    List<Integer> members = new ArrayList<>();
    List<Integer> named = new ArrayList<>();
    for (int i = 1; i < texts.length; i++) {
      int tag = in.readUnsignedByte();
      if (tag == UTF8) {
        texts[i] = in.readUTF();
      } else if (tag == CLASS || tag == STRING || tag == METHOD_TYPE || tag == MODULE
          || tag == PACKAGE) {
        firsts[i] = in.readUnsignedShort();
        if (tag == CLASS) {
          named.add(i);
        }
      } else if (tag == METHOD_HANDLE) {
        skip(in, 3);
      } else {
        firsts[i] = in.readUnsignedShort();
        seconds[i] = in.readUnsignedShort();
        if (tag >= FIELD && tag <= INTERFACE_METHOD) {
          members.add(i);
        } else if (tag == LONG || tag == DOUBLE) {
          skip(in, 4);
          i++; // the JVM's format: it takes two places
        }
      }
    }
    named.forEach(i -> classes.add(texts[firsts[i]]));
    members.forEach(i -> uses.add(new Use(texts[firsts[firsts[i]]],
        texts[firsts[seconds[i]]] + " " + texts[seconds[seconds[i]]])));
  }

  private Map<String, Integer> members(DataInputStream in) throws IOException {
    Map<String, Integer> found = new HashMap<>();
    for (int i = in.readUnsignedShort(); i > 0; i--) {
      int flags = in.readUnsignedShort();
      String member = texts[in.readUnsignedShort()] + " " + texts[in.readUnsignedShort()];
      found.put(member, flags);
      for (int attributes = in.readUnsignedShort(); attributes > 0; attributes--) {
        skip(in, 2);
        skip(in, in.readInt());
      }
    }
    return found;
  }

  private static void skip(DataInputStream in, int bytes) throws IOException {
    for (int left = bytes; left > 0;) {
      int skipped = in.skipBytes(left);
      if (skipped == 0) {
        throw new IOException("a class file ends too early");
      }
      left -= skipped;
    }
  }

  /** A field or method, used through a class that declares or inherits it. */
  static final class Use {
    final String owner;
    final String member;

    private Use(String owner, String member) {
      this.owner = owner;
      this.member = member;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Use && ((Use) other).owner.equals(owner)
          && ((Use) other).member.equals(member);
    }

    @Override
    public int hashCode() {
      return owner.hashCode() * 31 + member.hashCode();
    }
  }
}
