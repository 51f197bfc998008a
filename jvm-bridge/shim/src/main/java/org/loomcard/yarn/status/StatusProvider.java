package org.loomcard.yarn.status;

/** A scheduler whose status the web side can show. */
public interface StatusProvider {

  /** Returns the status; never null once the scheduler is initialised. */
  StatusSource status();
}
