package org.loomcard.yarn.player.context;

import java.util.ArrayList;
import java.util.List;

/**
 * What happened to an application since its last message, for the process of the models:
 * python/loomcard/player/played_master.py describes the fields.
 */
public final class Heard {
  public final String application;
  public final long nowMs = System.currentTimeMillis();
  public boolean registered;
  public long[] headroom;
  public boolean withVcores = true;
  public final List<long[]> started = new ArrayList<>();
  public final List<Object[]> ended = new ArrayList<>();
  public final List<Object[]> allocated = new ArrayList<>();

  public Heard(String application) {
    this.application = application;
  }
}
