package org.loomcard.yarn.embedded;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The command line of {@link EmbeddedCluster}. */
final class Options {
  static final String USAGE =
      "EmbeddedCluster (--nodes N | --machines FILE) --work FOLDER [--scheduler CLASS] [--stay]";

  private int nodes = 3;
  private File machines;
  private File work;
  private String scheduler;
  private boolean stay;

  private Options() {
  }

  /**
   * Reads the arguments.
   *
   * @throws IllegalArgumentException naming the argument and what was expected
   */
  static Options parse(String[] args) {
    Options options = new Options();
    for (int i = 0; i < args.length; i++) {
      switch (args[i]) {
        case "--nodes":
          options.nodes = positive(value(args, ++i), args[i - 1]);
          break;
        case "--machines":
          options.machines = new File(value(args, ++i));
          break;
        case "--work":
          options.work = new File(value(args, ++i));
          break;
        case "--scheduler":
          options.scheduler = value(args, ++i);
          break;
        case "--stay":
          options.stay = true;
          break;
        default:
          throw new IllegalArgumentException("unknown argument " + args[i] + "; usage: " + USAGE);
      }
    }
    if (options.work == null) {
      throw new IllegalArgumentException("--work is missing; usage: " + USAGE);
    }
    return options;
  }

  /**
   * The nodes: those of the file of machines, or so many as were asked for, n1, n2 and so on.
   *
   * @throws IOException if that file cannot be read
   */
  List<Machine> machines() throws IOException {
    if (machines != null) {
      return Machine.read(machines);
    }
    List<Machine> named = new ArrayList<>();
    for (int i = 1; i <= nodes; i++) {
      named.add(Machine.named("n" + i));
    }
    return named;
  }

  /** Where the nodes keep their folders. */
  File work() {
    return work;
  }

  /** A scheduler class that replaces the one of yarn-site.xml, or null. */
  String scheduler() {
    return scheduler;
  }

  /** True: keep running when standard input ends, until SIGTERM. */
  boolean stay() {
    return stay;
  }

  private static String value(String[] args, int at) {
    if (at >= args.length) {
      throw new IllegalArgumentException(args[at - 1] + " needs a value; usage: " + USAGE);
    }
    return args[at];
  }

  private static int positive(String text, String name) {
    int number;
    try {
      number = Integer.parseInt(text);
    } catch (NumberFormatException e) {
      number = 0;
    }
    if (number < 1) {
      throw new IllegalArgumentException(name + " " + text + ": expected a whole number >= 1");
    }
    return number;
  }
}
