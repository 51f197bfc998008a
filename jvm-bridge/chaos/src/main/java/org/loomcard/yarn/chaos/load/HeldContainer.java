package org.loomcard.yarn.chaos.load;

import org.apache.hadoop.yarn.api.records.Container;

/** A container that was allocated to a master and whose end was not reported to it yet. */
final class HeldContainer {
  Container container;
  final Ask ask;
  /** How often its master had registered when the container was allocated. */
  final int life;
  boolean released;
  /** Since when no node knows it, in milliseconds since 1970; 0 while a node does. */
  long missingSinceMs;

  HeldContainer(Container container, Ask ask, int life) {
    this.container = container;
    this.ask = ask;
    this.life = life;
  }
}
