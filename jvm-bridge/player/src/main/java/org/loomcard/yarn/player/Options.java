package org.loomcard.yarn.player;

import java.io.File;

/** The command line of {@link WorkloadPlayer}. */
final class Options {
  static final String USAGE =
      "WorkloadPlayer --input FILE --log FILE [--address HOST] --python FILE";

  private File input;
  private File log;
  private String address = "127.0.0.1";
  private File python;

  private Options() {
  }

  /**
   * Reads the arguments.
   *
   * @throws IllegalArgumentException naming the argument and what was expected
   */
  static Options parse(String[] args) {
    Options options = new Options();
    for (int i = 0; i < args.length; i += 2) {
      if (i + 1 == args.length) {
        throw new IllegalArgumentException(args[i] + " needs a value; usage: " + USAGE);
      }
      String value = args[i + 1];
      switch (args[i]) {
        case "--input":
          options.input = new File(value);
          break;
        case "--log":
          options.log = new File(value);
          break;
        case "--address":
          options.address = value;
          break;
        case "--python":
          options.python = new File(value);
          break;
        default:
          throw new IllegalArgumentException("unknown argument " + args[i] + "; usage: " + USAGE);
      }
    }
    if (options.input == null || options.log == null || options.python == null) {
      throw new IllegalArgumentException(
          "--input, --log or --python is missing; usage: " + USAGE);
    }
    return options;
  }

  /** The scenario with its hints. */
  File input() {
    return input;
  }

  /** The file of the player's own log. */
  File log() {
    return log;
  }

  /** The Python that runs the application masters' models. */
  File python() {
    return python;
  }

  /** The address of this machine that containers reach it by. */
  String address() {
    return address;
  }
}
