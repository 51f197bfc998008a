package org.loomcard.yarn.bridge;

/**
 * A set-up that governs, or did: the compiled form, the version it was applied as, and its YAML.
 */
public final class AppliedSetup {
  public final Setup setup;
  /** Counts from 1, the set-up of the first start. */
  public final int version;
  /** The text it was compiled from; null where only the compiled form was given. */
  public final String yaml;

  public AppliedSetup(Setup setup, int version, String yaml) {
    this.setup = setup;
    this.version = version;
    this.yaml = yaml;
  }

  @Override
  public String toString() {
    return "set-up version " + version + " (" + setup.source + ", hash " + setup.hash + ")";
  }
}
