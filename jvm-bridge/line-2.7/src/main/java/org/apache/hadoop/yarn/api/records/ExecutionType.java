package org.apache.hadoop.yarn.api.records;

/** Hadoop 2.7 lacks this class: all its containers are guaranteed. */
public enum ExecutionType {
  /** It runs at once where it was allocated. */
  GUARANTEED,
  /** It may wait on its node. Hadoop 2.7 has no such container. */
  OPPORTUNISTIC
}
