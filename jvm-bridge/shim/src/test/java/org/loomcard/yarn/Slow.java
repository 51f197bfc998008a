package org.loomcard.yarn;

/** A category of tests that take long and guard what changes seldom: `make rest` runs them. */
public interface Slow {}
