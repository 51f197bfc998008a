package org.loomcard.yarn.queues;

/** Why a decision was refused: the reason codes of docs/reference/wire.md. */
public final class ReasonCodes {
  public static final String NODE_GONE = "NODE_GONE";
  public static final String NODE_FULL = "NODE_FULL";
  public static final String ASK_GONE = "ASK_GONE";
  public static final String ATTEMPT_GONE = "ATTEMPT_GONE";
  public static final String QUEUE_MAX = "QUEUE_MAX";
  public static final String USER_LIMIT = "USER_LIMIT";
  public static final String AM_LIMIT = "AM_LIMIT";
  public static final String RUNNING_LIMIT = "RUNNING_LIMIT";
  public static final String BLACKLISTED = "BLACKLISTED";
  public static final String NODE_RESERVED = "NODE_RESERVED";
  public static final String RESERVATION_LIMIT = "RESERVATION_LIMIT";
  public static final String LOCALITY = "LOCALITY";
  public static final String LABEL = "LABEL";
  public static final String STALE = "STALE";
  public static final String LATE = "LATE";
  public static final String INVALID = "INVALID";

  private ReasonCodes() {
  }
}
