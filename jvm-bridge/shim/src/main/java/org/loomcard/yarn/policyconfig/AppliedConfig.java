package org.loomcard.yarn.policyconfig;

/**
 * A set-up that governs, or did: the compiled form, the version it was applied as, its YAML, and
 * who applied it when.
 */
public final class AppliedConfig {
  public final PolicyConfig setup;
  /** Counts from 1, the set-up of the first start. */
  public final int version;
  /** The text it was compiled from; null where only the compiled form was given. */
  public final String yaml;
  /** Who applied it; null where that is not known, as of the first start. */
  public final String user;
  /** When it was applied, in milliseconds since 1970; 0 where that is not known. */
  public final long atMs;

  /** One of unknown user and time. */
  public AppliedConfig(PolicyConfig setup, int version, String yaml) {
    this(setup, version, yaml, null, 0);
  }

  public AppliedConfig(PolicyConfig setup, int version, String yaml, String user, long atMs) {
    this.setup = setup;
    this.version = version;
    this.yaml = yaml;
    this.user = user;
    this.atMs = atMs;
  }

  @Override
  public String toString() {
    return "set-up version " + version + " (" + setup.source + ", hash " + setup.hash + ")";
  }
}
