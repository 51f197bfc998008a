package org.loomcard.yarn.player.tasks;

import org.apache.hadoop.yarn.api.records.Resource;

/**
 * What an application of one kind asks for and does with what it gets. Called by the one thread of
 * its application master; it changes the asks, and the master sends them to the ResourceManager.
 */
public interface WorkloadModel {
  /** The application master is registered. */
  void begin();

  /** The stage whose tasks an ask key is for. */
  default int stage(int key) {
    return key;
  }

  /** Says what a container of an ask key is used for; null: it is not needed any more. */
  Use allocated(int key, String host);

  /** A held container runs. */
  void started(Use use);

  /** A container has ended. */
  void ended(Use use, End end);

  /** The ResourceManager has answered; {@code withVcores}: it schedules by more than memory. */
  void heard(Resource headroom, boolean withVcores);

  /** What of its tasks is done, and whether one failed too often. */
  TaskTable table();

  /** What a model may ask of its application master. */
  interface Master {
    /** Runs something on the master's own thread, so many ms from now. */
    void later(long ms, Runnable what);

    /** Gives a container back; its end will be heard of. */
    void release(Use use);

    /** Ends a held container, which exits with success. */
    void end(Use use);
  }
}
